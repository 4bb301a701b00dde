"""Parse text into a syntax tree: P4_16's tokens and grammar (appendix of the P4_16 specification)."""
