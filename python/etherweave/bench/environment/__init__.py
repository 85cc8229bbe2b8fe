"""The state of a host before and after a run, and what about it spoils measurements.

::

    /proc, /sys, tools ─► readers ─► snapshot (plain JSON) ─┐
                                                            ├─► checks ─► findings, each with a cure
    snapshots of other hosts, facts of the run ─────────────┘

    each host of a run: launcher ─► looks (or capture, where there is no Etherweave) ─► snapshots

Readers stand at the edge: they look below a root directory, and start tools by lists of arguments
with a time limit. Checks are pure. What cannot be read, for lack of a right or a tool, is a gap in
the snapshot: it narrows the checks that need it, and they say so.
"""
