"""From checked program to P4Info: ids, names, types, and whether a pushed P4Info fits its program."""
