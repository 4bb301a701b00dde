"""``python -m olaflab`` is ``olaflab``."""

from olaflab.main import main

main()
