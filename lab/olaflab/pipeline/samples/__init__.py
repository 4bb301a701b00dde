"""Sample programs with STF expectations: which of them pass, are refused, or fail."""
