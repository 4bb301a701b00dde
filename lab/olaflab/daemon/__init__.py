"""The daemon under kills, failover and load, with its history explained by an order."""
