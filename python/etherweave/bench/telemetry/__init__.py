"""What a host does while a benchmark runs: processors, links, priorities, pauses, RDMA.

::

    /proc, /sys, the driver ─► sampling ─► recorder ─► recording ─┬─► tables: Parquet
                                   │        (a thread)            └─► openmetrics: Prometheus
                                families: what is counted, once               └─► dashboard.json

    each host of a launch: process ─► stream ─► epochs (kept under the launch) ─► crossing: findings

Each recording is an epoch: it carries the run's name, on every row and every series. Left out:
derived figures such as utilisation; readers make them from counters.
"""
