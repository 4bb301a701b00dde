"""Control messages on the wire (iSwitch §3.2, table 2): membership and settings by single datagrams."""
