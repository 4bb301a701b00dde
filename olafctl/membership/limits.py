"""The bounds of a membership: the sizes of the pipeline's tables.

Table sizes are the same for every testbed, so that one compiled pipeline serves them all.
"""

from ipaddress import IPv4Network

from olafctl.wire import layouts
from olafctl.wire.control import JOIN

WORKERS = 16384
"""The entries of VNP4₁'s ``workers`` and VNP4₂'s ``members``: the 10,000 members that one control plane is
built for, and room for members that join while others leave."""
PARAMETER_SERVERS = 16
REFUSALS = 16
"""The entries of ``refusals``, more than there are reasons."""
CLUSTERS = 1024
"""The entries of ``cluster_multicast`` and ``results``."""
CLUSTER_NAME = JOIN.field("cluster").bits // 8
"""The bytes of a cluster's name, which control messages carry."""
VALUES = 1 << 28
"""The longest model, in values: 1 GiB."""
EPOCHS = 1 << layouts.OLAF.field("epoch").bits
FORWARDING = WORKERS + 2048
"""The entries of the forwarding table: every worker's address, other hosts and routes."""
BRIDGING = WORKERS + 2048
BETWEEN_ENGINES = IPv4Network("240.0.0.0/8")
"""Reserved addresses, which no host can have: an engine below another has one of these for each cluster."""
CHILDREN = 32
"""The most engines directly below one: their copies have replica ids of 16 bits, next to the workers'."""
