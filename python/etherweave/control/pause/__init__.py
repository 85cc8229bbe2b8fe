"""Pauses: frames of IEEE 802.3 Annex 31B and 31D, their timers, and the agent that obeys them.

::

    PAUSE, PFC ─► frame (pure) ─► timers (pure) ─► pause vector ─► agent ─► one FLOW_MOD

A switch with the data plane of :mod:`etherweave.control.ebpf` does all of this by itself.
"""
