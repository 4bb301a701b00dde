"""The command ``olafswitch``."""
