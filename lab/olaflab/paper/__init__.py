"""The paper's evaluation by one command: experiments, its figures next to ours, docs/reproduction.md."""
