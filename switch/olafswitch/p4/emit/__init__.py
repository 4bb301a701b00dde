"""Write a checked program as C++ over the headers of :file:`olafswitch/p4/native`."""
