"""The state of a host before and after a run, and what about it impairs measurements.

::

    /proc, /sys, tools ─► readers ─► snapshot (plain JSON) ─┐
                                                            ├─► checks ─► findings with remedies
    snapshots of other hosts, facts of the run ─────────────┘

    each host of a run: launcher ─► inspections ─► snapshots

Readers are the edge: they read files below a root directory, and start tools by lists of arguments
with a time limit. Checks are pure. What cannot be read, for lack of a privilege or a tool, is a gap
in the snapshot: the checks that need it report that they are incomplete.
"""
