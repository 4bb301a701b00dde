"""Recorded training, sent again through a deployed engine."""
