"""The P4Runtime agent: a gRPC server for devices behind the DataPlane interface.

Its modules, each of which uses only those below it:

    server             gRPC: calls in, statuses out
    controller_stream  one stream per controller
    device             one device: its pipeline, and the lock that orders changes
    snapshot           a device's state as updates
    notifications      packets, digests and idle entries for controllers
    arbitration        who may write
    read               selecting state
    write_tables       table entries
    write_arrays       counters, meters and registers
    write_objects      every other kind of entity
    encode             state as bytes of answers
    state              what writes change and reads show
    keys               match keys and action calls of requests
    p4data             values of P4 types
    refusals           codes and reasons
"""

from olafswitch.p4runtime.agent.server import API_VERSION, AgentServer, serve_devices

__all__ = ["API_VERSION", "AgentServer", "serve_devices"]
