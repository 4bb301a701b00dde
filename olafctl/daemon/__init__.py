"""The control-plane daemon: owns deployments, keeps their membership, and makes their devices equal to it."""
