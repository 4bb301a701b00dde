"""A P4_16 compiler for v1model: P4 in, native code and P4Info out."""
