"""The control plane of a real fabric: rules, configurations and addresses, and what applies them.

::

    scenario ─► core: flow tables ─► plan (pure) ─► rules ─┬─► text for ovs-ofctl, JSON
                      addresses                            ├─► OpenFlow 1.3 messages ─► controller
                                                           └─► maps of the eBPF switch

``rules``, ``plan``, ``text``, ``messages`` and the frames are pure; sockets, processes and files
are in the other modules.
"""
