"""A switch in the kernel of an ordinary Linux machine, as the paper proposes it (section V-B).

::

    SwitchPlan ─► match, maps (pure) ─► entries of maps ─┐
    switch.bpf.c ─► program ──────────────────────────────┴─► attach ─► ports of a namespace

A PAUSE or PFC frame deactivates conditional rules within the lookup, without a controller.
"""
