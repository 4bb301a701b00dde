"""The paper's evaluation by one command: experiments, the paper's figures next to ours, docs/reproduction.md."""
