"""The demo: the paper's microbenchmark (OLAF §8.1) from a recorded training, on a pipeline of its own."""
