"""What the laboratory adds to ``olafctl``: the one verb that shows an operator what Olaf does."""
