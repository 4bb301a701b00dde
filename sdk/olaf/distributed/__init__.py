"""The synchronous door: ``torch.distributed`` backend "olaf" and a DDP communication hook.

Importing this room registers the backend, and needs torch. ``join`` gives a ``Member`` for the communication
``hook``; ``Sum`` is what torch waits on. Sums of binary32 tensors on the CPU over the whole world go through
the engine; every other collective, type and group goes through gloo. Where the cluster is comes from the
environment:

    OLAF_ADDRESS   parameter server address of the cluster, host:port, or olaf://cluster@engine to join
    OLAF_KEY       the cluster's key, if it has one
    OLAF_LOCAL     this member's address, host:port (default: as ``olaf.transport.udp.usual`` finds it)
    OLAF_MTU       bytes of an IP packet (default 1500)
    OLAF_EPOCH, OLAF_SEGMENTS    for a fixed address: the job's epoch and the cluster's segments (0, 1)
"""

from __future__ import annotations

from olaf.distributed.backend import DistributedMember, Sum, hook, join

__all__ = ["DistributedMember", "Sum", "hook", "join"]
