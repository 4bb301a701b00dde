"""The bounds of a membership: the sizes of the pipeline's tables.

Table sizes are the same for every testbed, so that one compiled pipeline serves them all.
"""

from ipaddress import IPv4Network

from olafctl.wire import layouts
from olafctl.wire.control import JOIN

WORKERS = 16384
"""Entries of VNP4₁'s ``workers`` and VNP4₂'s ``members``: the 10,000 members that one control plane is built
for, and as many again as joined while others leave."""
PARAMETER_SERVERS = 16
REFUSALS = 16
"""More than there are reasons."""
CLUSTERS = 1024
"""Entries of ``cluster_multicast`` and ``results``."""
CLUSTER_NAME = JOIN.field("cluster").bits // 8
"""Bytes of a cluster's name: control messages carry it."""
VALUES = 1 << 28
"""The longest model, in values: 1 GiB."""
EPOCHS = 1 << layouts.OLAF.field("epoch").bits
FORWARDING = WORKERS + 2048
"""Every worker's address, other hosts and routes."""
BRIDGING = WORKERS + 2048
BETWEEN_ENGINES = IPv4Network("240.0.0.0/8")
"""Reserved addresses: an engine below another has one of these for each cluster, and no host can."""
CHILDREN = 32
"""Engines right below one: their copies have replica ids of 16 bits, next to the workers'."""
