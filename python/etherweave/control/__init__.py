"""The control plane: what switches and hosts of a real fabric are told, and who tells them.

::

    scenario ─► core: flow tables ─► plan (pure) ─► rules ─┬─► text for ovs-ofctl, JSON
                      addresses                            ├─► OpenFlow 1.3 messages ─► controller
                                                           └─► maps of the eBPF switch

What is pure stands in modules that open nothing: ``rules``, ``plan``, ``text``, ``messages``,
frames. Sockets, processes and files are around them.
"""
