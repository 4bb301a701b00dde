"""From a question to an answer: the verdict, accepted ranges of a parameter, agreement of both models."""
