"""A switch in the kernel of an ordinary Linux machine, as the paper proposes it (section V-B).

::

    SwitchPlan ─► match, masks, maps (pure) ─► entries of maps ─┐
    switch.bpf.c ─► build ─► program ───────────────────────────┴─► attach ─► ports of a namespace

A PAUSE or PFC frame puts conditional rules out of force inside the lookup: there is nobody to ask.
"""
