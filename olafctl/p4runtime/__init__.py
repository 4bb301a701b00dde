"""P4Runtime: the agent that serves a device, the session that programs one, and the interface to devices."""

import os

# An operator reads our errors; gRPC's own log lines would come before them. Set it yourself to see them.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
