"""From checked program to C++ over the headers of :file:`olafswitch/p4/native`."""
