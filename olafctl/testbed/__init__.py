"""Testbeds: the one YAML file that says everything about a deployment.

``load(path)`` gives checked values (:mod:`olafctl.testbed.model`) or every problem with its line.
"""

from olafctl.testbed.load import load

__all__ = ["load"]
