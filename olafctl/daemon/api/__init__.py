"""The northbound gRPC API ``olaf.v1``: its schema, its server and its client."""
