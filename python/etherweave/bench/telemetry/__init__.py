"""Counters of a host while a benchmark runs: processors, links, priorities, pauses, RDMA.

::

    /proc, /sys, the driver ─► sampling ─► recorder ─► recording ─┬─► tables: Parquet
                                   │        (a thread)            └─► openmetrics: Prometheus
                                families: the counters, listed once               └─► dashboard.json

    each host of a launch: process ─► stream ─► epochs (stored by launch) ─► link_traffic: findings

Each recording is an epoch: it carries the run's name, on every row and every series. Left out:
derived figures such as utilisation; readers make them from counters.
"""
