"""A golden model of OlafQueue, its Verilated model, and what compares implementations on random traffic."""
