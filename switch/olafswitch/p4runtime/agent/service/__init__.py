"""The gRPC service: calls in, statuses out, one stream per controller."""
