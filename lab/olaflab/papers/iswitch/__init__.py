"""iSwitch's evaluation (iSwitch §5, §6): tables 3 to 5, figures 4 and 12 to 15."""
