"""The second opinion: schedules, and a discrete-event model that runs one or every one of them."""
