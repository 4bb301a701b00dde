"""The same system as constraints for Z3, satisfied by the schedules that violate the objective."""
