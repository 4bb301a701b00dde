"""A P4 switch: compiler, native data plane, P4Runtime agent and session, ports, p4c's and BMv2's commands."""

import os

__version__ = "0.1.0"

# An operator reads our errors; gRPC's own log lines would come before them. Set it yourself to see them.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
