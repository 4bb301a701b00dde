# The two frames of a ping.
#: docs/p4-to-fpga.md: from scapy.all -> frames.py
python frames.py
test "$(tshark -r 1.in -T fields -e icmp.type) $(tshark -r 2.in -T fields -e icmp.type)" = "8 0"
