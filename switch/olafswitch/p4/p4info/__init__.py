"""P4Info of a checked program: ids, names, types, and whether a pushed P4Info fits its program."""
