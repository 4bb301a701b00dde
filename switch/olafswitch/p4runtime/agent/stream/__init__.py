"""What a StreamChannel carries: arbitration, packets, digests, idle timeouts."""
