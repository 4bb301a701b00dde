"""From checked program to C++ over the headers of :file:`olafctl/p4/native`."""
