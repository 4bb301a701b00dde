"""The P4Runtime agent: a gRPC server for devices behind the DataPlane interface.

Its rooms, each of which uses only those below it:

    service   gRPC: calls in, statuses out, one stream per controller
    device    one device: its pipeline, and the lock that orders changes
    stream    arbitration, packets, digests, idle timeouts
    read      selecting state, and encoding it
    write     one file for each kind of entity
    state     what writes change and reads show
"""

from olafswitch.p4runtime.agent.service.server import API_VERSION, Agent, serve

__all__ = ["API_VERSION", "Agent", "serve"]
