"""The documentation as a site: the pages of ``docs/``, and pages made from commands, interfaces and docstrings."""
