"""The golden OlafQueue: what every frame must become, written from the papers and not from the Verilog."""

from olaftest.queue.golden.queue import GoldenQueue, Unexplained, with_status

__all__ = ["GoldenQueue", "Unexplained", "with_status"]
