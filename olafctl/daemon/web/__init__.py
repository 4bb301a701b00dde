"""The daemon's HTTP server: metrics, health, and one page with the live state of its deployments."""
