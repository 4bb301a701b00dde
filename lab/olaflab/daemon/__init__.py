"""The daemon judged: under kills, failover, hostile input and load; its history explained by an order."""
