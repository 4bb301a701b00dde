"""The bounds that a testbed is checked against, beside those of its clusters and members."""

from olafctl.wire import layouts

MIN_RATE = 4_000
"""bit/s: what the rate register can still express."""
MAX_RATE = 128_000_000_000
"""bit/s: 512 bits at 250 MHz."""
MIN_WINDOW = 4
"""ns: one clock cycle."""
MAX_WINDOW = ((1 << 31) - 1) * 4
"""ns: clock cycles below 2^31, so that ages differ from their wrap."""
MIN_DELAY = 100
"""ns: how far engines may run ahead of each other in virtual time."""
MAX_DELAY = 10**10
"""ns: ten seconds."""
LINK_QUEUE = 1_000_000

ENGINES = 64
SHARDS = 16

FRONT_PORTS = range(1, layouts.MAX_FRONT_PORT + 1)
INTERFACE_NAME = 15
"""Linux allows interface names of this many bytes."""
FILE_NAME = 255
PATH = 4000
"""Linux allows paths of 4095 bytes, a testbed's folder included."""
SOCKET_PATH = 107
"""sockaddr_un holds this many bytes of path."""
FILE_SIZE = 4 << 20
"""bytes: no honest testbed is larger."""
SHOWN_PATH = 300
"""Characters of a path that a message repeats."""
ITEMS = 4096
"""The most items of one list: more than any table holds."""
PROBLEMS_SHOWN = 100
PROBLEMS = 1000
"""With so many problems the reading ends."""
PROBLEMS_OF_A_LINE = 3
"""Problems of one line that are shown: the others mostly follow from these."""
