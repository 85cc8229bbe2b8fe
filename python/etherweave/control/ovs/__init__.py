"""Open vSwitch in user space: real OpenFlow switches for a plan, without a switch.

::

    Plan ─► bridges ─► daemons (a directory of their own) ◄── load: rules, groups, meters
                           │
                           └─► control socket ─► trace ─► verify: an oracle that we did not write

Nothing here needs root with the dummy datapath. With the netdev datapath, bridges take network
interfaces, which only root may give them.
"""
