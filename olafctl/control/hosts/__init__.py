"""Hosts that are hosts: each worker, parameter server and other host in a network namespace of its own."""
