"""``python -m olafctl`` is ``olafctl``."""

from olafctl.cli.main import main

main()
