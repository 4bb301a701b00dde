"""Testbeds: the one YAML file that says everything about a deployment.

``load(path)`` gives checked values (:mod:`olafctl.testbed.model`) or every problem with its line;
``locate(text)`` finds the file that an operator means.
"""

from olafctl.testbed.load import load
from olafctl.testbed.locate import locate

__all__ = ["load", "locate"]
