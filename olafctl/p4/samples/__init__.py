"""Sample programs with STF expectations: run them, and say which pass, are refused, or come out wrong."""
