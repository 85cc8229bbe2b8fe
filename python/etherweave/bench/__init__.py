"""Benchmarks of real clusters: what there is, how each is started, and what its text says.

::

    request ─► adapter.plan ─► placement, command, forecast ─► (a runner)
                                                                   │
    text, also one that came by mail ─► document ─► adapter.parse ─┴─► measurements ─► references

Everything here is pure but ``binaries``, which looks for programs. Values are stored in base units:
bytes, seconds, bytes per second, operations per second, counts; each keeps what was printed.
A text that is cut or garbled gives a part that says so, or an error, never a wrong number.
"""
