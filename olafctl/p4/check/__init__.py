"""From syntax tree to checked program: names resolved, types checked, generics filled in, blocks instantiated."""
