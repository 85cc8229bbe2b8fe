"""Open vSwitch in user space: real OpenFlow switches for a plan, without hardware.

::

    Plan ─► bridges ─► daemons (a directory of their own) ◄── load: rules, groups, meters
                           │
                           └─► oracle ─► trace ─► verify: an implementation of others as reference

The dummy datapath does not require root. With the netdev datapath, bridges use network
interfaces, which requires root.
"""
