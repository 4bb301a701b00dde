"""Real hosts: each worker, parameter server and other host has its own network namespace."""
