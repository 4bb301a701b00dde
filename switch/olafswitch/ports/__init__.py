"""Front ports: veth, TAP, UNIX sockets and pcap files."""
