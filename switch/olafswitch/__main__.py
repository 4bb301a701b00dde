"""Run ``olafswitch``, which an interrupt ends cleanly from the start."""

from olafswitch.interrupts import end_quietly


def main() -> None:
    """Load the command line and run it."""
    end_quietly()
    from olafswitch.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
