"""Benchmarks of real clusters: how each is started, what its text says, and how sure one can be.

::

    site, wishes ─► campaign ─► runner ─► launchers ─► store ─► verdict ─► points ─► summary, tables
                       │          └──── decides by ─────┘                    └─► comparing, history
    request ─► adapter.plan ─► command, forecast

    text, also one that came by mail ─► document ─► adapter.parse ─► measurements ─► references

Values are stored in base units: bytes, seconds, bytes per second, operations per second, counts;
each keeps what was printed. A text that is cut or garbled gives a part that says so, or an error,
never a wrong number. What touches the world: ``binaries`` looks for programs, ``launchers`` start
them, ``store`` keeps what they leave, ``environment.readers`` and ``telemetry`` look at hosts.
"""
