"""A deployment's network interfaces: veths and namespaces, their impairment, network cards, captures."""
