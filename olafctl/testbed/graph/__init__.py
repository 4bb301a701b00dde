"""The topology of a testbed as a drawing and as text, with the rates at its ports."""
