"""A fabric of a few hosts, on which tests of the drafts take little time."""

SMALL = """\
routing = "ecmp"

[topology.fat_tree]
leaves = 4
hosts_per_leaf = 2
cores = 2
links_per_core = 1

[switch]
buffer = "2MB"
ecn = { queue_min = "100kB", queue_max = "400kB", share_max = 0.1 }

[flow_control.pfc]

[transport.roce]
reliability = "selective_repeat"
dcqcn = {}
"""
