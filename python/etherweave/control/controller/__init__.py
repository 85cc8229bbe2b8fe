"""The controller: keeps the switches of a fabric at what the plan tells them.

::

    switches ──► door ─► wire ─► session (os-ken) ──► controller ──► wiring, drift, replan, roles
     TCP, TLS   limits   frames  handshake, answers   one thread         decisions, pure
                                        ▲                 │
                                        └── install ◄─────┘ a thread per switch that is told

``wiring``, ``drift``, ``replan``, ``roles`` and ``reports`` open nothing. A switch is told by
bundles only: all of a change, or nothing. Whatever a peer sends costs bounded time and memory.
"""
