"""The host's side of the Dynamic MAC Protocol: requests the hierarchical MAC address of a switch.

::

    host ── request: source = own address ─────────────► switch, rule for EtherType 0x88b5
    host ◄─ the same frame: source = hierarchical MAC ── and for the port it came in by

A switch rewrites the source address and nothing else; any other frame is not an answer.

``frame`` and ``request`` are pure, as is ``monitor``, which decides what the daemon does about an
interface; ``interface`` and ``links`` use the kernel, ``client`` and ``daemon`` combine them. Other
devices on the cable can answer as well as the switch: the protocol has no keys. Two different
answers are rejected; a single forged one cannot be detected.

The protocol is section IV of Benito et al., *On the Use of Commodity Ethernet Technology in
Exascale HPC Systems* (2015); the payload is Etherweave's.
"""
