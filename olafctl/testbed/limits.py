"""The bounds of a testbed, apart from those of its clusters and members."""

from olafctl.wire import layouts

MIN_RATE = 4_000
"""The smallest rate in bit/s that the rate register can express."""
MAX_RATE = 128_000_000_000
"""The largest rate in bit/s: 512 bits at 250 MHz."""
MIN_WINDOW = 4
"""The shortest window in ns: one clock cycle."""
MAX_WINDOW = ((1 << 31) - 1) * 4
"""The longest window in ns: clock cycles below 2^31, so that ages differ from their wrap."""
MIN_DELAY = 100
"""The shortest delay in ns: how far engines may run ahead of each other in virtual time."""
MAX_DELAY = 10**10
"""The longest delay in ns: ten seconds."""
LINK_QUEUE = 1_000_000

ENGINES = 64
SHARDS = 16

FRONT_PORTS = range(1, layouts.MAX_FRONT_PORT + 1)
INTERFACE_NAME = 15
"""The bytes of Linux's longest interface name."""
FILE_NAME = 255
PATH = 4000
"""The longest path: Linux allows 4095 bytes, with a testbed's folder."""
SOCKET_PATH = 107
"""The bytes of a path in a sockaddr_un."""
FILE_SIZE = 4 << 20
"""The most bytes of a testbed: no real testbed is larger."""
SHOWN_PATH = 300
"""The characters of a path that a message repeats."""
ITEMS = 4096
"""The most items of one list: more than any table holds."""
PROBLEMS_SHOWN = 100
PROBLEMS = 1000
"""The number of problems at which the reading ends."""
PROBLEMS_OF_A_LINE = 3
"""The problems of one line that are shown: further ones mostly follow from these."""
