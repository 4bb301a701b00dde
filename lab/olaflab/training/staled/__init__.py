"""Four small learners in numpy, each a worker of a synchronous or asynchronous training with old weights."""
