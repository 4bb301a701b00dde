"""What rules against staleness are worth: PPO with learners that work side by side in virtual time."""
