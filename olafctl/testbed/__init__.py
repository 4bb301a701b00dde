"""Testbeds: the one YAML file that says everything about a deployment.

``load.load(path)`` gives checked values (:mod:`olafctl.testbed.model`) or every problem with its line;
``locate.locate(text)`` finds the file that an operator means.
"""
