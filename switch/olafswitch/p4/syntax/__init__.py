"""From text to a syntax tree: P4_16's tokens and grammar (P4_16 specification, appendix on the grammar)."""
