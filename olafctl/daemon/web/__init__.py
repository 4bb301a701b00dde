"""What a daemon serves over HTTP: metrics, health, and one page that shows what its deployments do."""
