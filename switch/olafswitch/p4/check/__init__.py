"""From syntax tree to checked program: names, types, generics, instances."""
