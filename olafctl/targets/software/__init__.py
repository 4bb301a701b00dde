"""The pipeline in production on a Linux box: the twin's process, with OlafQueue in C++."""
