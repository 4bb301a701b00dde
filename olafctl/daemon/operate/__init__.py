"""Running the daemon: metrics and health, the audit log, backups."""
