"""A fabric in a laboratory: every switch and every host of a small scenario on one Linux machine.

::

    scenario ─► plan ─► layout (pure) ─► namespaces: one per host, and one with all switches
                                              │
                     switches: bridges of an Open vSwitch of its own, or the kernel's eBPF switch
                                              │
                     boot: DMP, then the IPv4 address of the plan

All interfaces lie in namespaces with a prefix of their own, so that nothing of the machine's own
network is touched, and ``down`` finds everything again, also after a crash. Requires root.

It proves function: rules, addresses, paths around pauses. Performance is the simulator's business.
"""
