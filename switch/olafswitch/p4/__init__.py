"""A P4_16 compiler for v1model and XSA, from P4 to native code and P4Info, and the switch that runs it."""
