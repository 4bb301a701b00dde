"""etcd behind the daemon: a small client of its v3 gRPC API, the store of memberships, and leadership."""
