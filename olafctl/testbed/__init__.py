"""Testbeds: the one YAML file that says everything about a deployment.

``load.load_testbed(path)`` returns checked values (:mod:`olafctl.testbed.model`) or raises every problem with
its line; ``locate.locate_testbed(text)`` finds the file that an operator means.
"""
