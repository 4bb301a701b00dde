"""What tests of daemons start: etcd, daemons, switches that survive them, machines as namespaces, a relay."""
