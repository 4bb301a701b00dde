"""BMv2: two ``simple_switch_grpc`` and OlafQueue, Verilated, in a process between them."""
