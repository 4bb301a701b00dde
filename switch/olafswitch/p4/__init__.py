"""A P4_16 compiler for v1model and XSA, P4 in, native code and P4Info out; and the switch that runs it."""
