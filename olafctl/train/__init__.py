"""The recorder (extra ``[train]``): asynchronous PPO on heterogeneous workers, kept as a trace."""
