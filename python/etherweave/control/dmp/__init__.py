"""The host's side of the Dynamic MAC Protocol: asks the switch for the hierarchical MAC address.

::

    host ── request: source = own address ─────────────► switch, rule for EtherType 0x88b5
    host ◄─ the same frame: source = hierarchical MAC ── and for the port it came in by

A switch rewrites the source address and nothing else. Whatever came back otherwise is no answer.

``frame`` and ``request`` are pure, as is ``watch``, which says what the daemon does about an
interface; ``interface``, ``links`` and ``notice`` talk to the kernel and to systemd, ``client`` and
``daemon`` put them together. Who else sits at the cable can answer as well as the switch: the
protocol has no keys. Two different answers are refused, a single forged one cannot be told.

The protocol is section IV of Benito et al., *On the Use of Commodity Ethernet Technology in
Exascale HPC Systems* (2015); the payload is ours.
"""
