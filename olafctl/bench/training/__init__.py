"""The paper's figures about learning: LunarLander through the twin, in virtual time (docs/training.md)."""
