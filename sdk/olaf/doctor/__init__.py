"""Find faults of this machine, and measure what Olaf costs here.

``olaf-doctor`` (``python -m olaf.doctor``) examines from a worker's host: does a frame reach the engine, does
the engine know its address, does it come back? ``examine`` is the same as a function. ``python -m
olaf.doctor.measure`` prints what an update costs in CPU time.
"""
