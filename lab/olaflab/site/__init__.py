"""The documents as a site: those of ``docs/``, and pages made from commands, interfaces and docstrings."""
