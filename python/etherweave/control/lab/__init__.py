"""A lab: every switch and every host of a small scenario on one Linux machine.

::

    scenario ─► plan ─► layout (pure) ─► namespaces: one per host, and one with all switches
                                              │
                     switches: bridges of an Open vSwitch of its own, or the kernel's eBPF switch
                                              │
                     boot: DMP, then the IPv4 address of the plan

All interfaces are in namespaces with a prefix of their own, so that the machine's own network is
not touched, and ``down`` finds everything, also after a crash. Requires root.

A lab shows function: rules, addresses, paths around paused ports. It does not show performance.
"""
