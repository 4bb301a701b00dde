"""``python -m olafswitch`` is ``olafswitch``."""

from olafswitch.cli.main import main

main()
