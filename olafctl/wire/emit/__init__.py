"""What is generated from the layouts: one file a language, each a pure function to text."""
