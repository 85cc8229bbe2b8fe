"""Network namespaces, links, packet sockets and processes of a Linux machine.

::

    control.lab, control.reaction_trials ─┐
                                          ├─► namespaces, links ─► pyroute2, iproute2
    bench.launchers.namespaces ───────────┘   packets, processes ─► the kernel

Imports no other room of the package, so that each may import it. ``links`` imports pyroute2 when
an interface is first used: the library takes 0.3 s to import, which no other verb should pay.
"""
