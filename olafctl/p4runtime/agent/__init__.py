"""The P4Runtime agent: a gRPC server for devices behind the DataPlane interface."""

from olafctl.p4runtime.agent.service.server import API_VERSION, Agent, serve

__all__ = ["API_VERSION", "Agent", "serve"]
