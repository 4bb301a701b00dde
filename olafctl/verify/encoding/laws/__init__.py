"""The laws of OLAF §12.2 and §12.3, one function each, over integer ticks.

Where the paper leaves room, they are read as follows (docs/verify.md gives the reasons):

* D(k) is when the first beat of k's slot leaves, so an empty engine has D = A, as T_Q = Q·p/C says.
* An update that joins a waiting one keeps its place (OLAF §4); the slot's D and T_Q are of its first update.
* A departure at the very instant of an arrival comes first: D(k) ≤ A(k+1) (OLAF §12.2), not < (OLAF §12.3).
* T_Q counts the rest of a transmission under way, which Q·p/C leaves out.
"""
