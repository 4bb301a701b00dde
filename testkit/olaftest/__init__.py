"""Test kit of Olaf: what tests of the product share, and the laboratory uses."""
