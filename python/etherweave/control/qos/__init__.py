"""Quality of service of a real fabric: configurations of switches and hosts for lossless traffic.

::

    scenario ─► policy ─► nos ─┬─► sonic ──► config_db.json ─► sonic_yang ─► XML for yanglint
    core: headroom             └─► templates ─► commands of Onyx, Cumulus and EOS, host scripts

All of it is pure. The linter of :mod:`etherweave.control.lint` reads these configurations, and
those that others wrote.
"""
