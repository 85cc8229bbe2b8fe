"""The controller: installs a plan in OpenFlow switches and keeps them at it.

::

    switches ─► server ─► message_stream ─► session (os-ken) ─► app ─► wiring, drift, roles
    TCP, TLS    limits    whole messages    handshake        one thread    decisions, pure
                                               ▲                │
                                               └─── install ◄──┘ a thread per switch

``wiring``, ``drift``, ``roles`` and ``reports`` open nothing. A switch is changed by bundles only:
all of a change, or none of it. Whatever a peer sends costs bounded time and memory.
"""
