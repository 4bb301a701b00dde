"""How frames travel: what both ends of every exchange are made of.

- ``wire``: headers and control messages, generated from the product's layouts.
- ``segments``: a model as a run of segments; values as they travel.
- ``frames``: frames of neighbouring segments, written and read in one go.
- ``address``: the forms of an address, and what they mean.
- ``port``: what a party needs from outside: ``Port``, ``Party``, ``Run``.
- ``udp``: ports over sockets in wall time. ``aliases``: several addresses over one socket.
- ``virtual``: ports in simulated time, ``VirtualNetwork``.
- ``membership``: joining and leaving a cluster by control messages.
"""
