"""The pipeline judged: packet rates of the twin, of engines in a tree and of a program, and p4c's samples."""
