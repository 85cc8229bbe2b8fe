"""Quality of service of a real fabric: what its switches and hosts must be told to lose nothing.

::

    scenario ─► policy ─┬─► nos/sonic ──► config_db.json ─► sonic_yang ─► XML for yanglint
    core: headroom      ├─► nos/onyx, nos/cumulus, nos/eos ─► commands
                        └─► hosts ──► shell scripts

All of it is pure. The linter of :mod:`etherweave.control.lint` reads what comes out, and what
others wrote.
"""
