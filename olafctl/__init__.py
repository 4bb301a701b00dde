"""Olaf: in-network acceleration of asynchronous distributed reinforcement learning."""

import os

__version__ = "0.1.0"

# An operator reads our errors; gRPC's own log lines would come before them. Set it yourself to see them.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
