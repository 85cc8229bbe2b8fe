#!/bin/sh
# Never loaded on a device: written after the vendor's documents; try it on one switch first.
# flow_control.pfc.priorities: 0 has DSCP 0, so that all traffic without a mark is lossless, too; expected a priority of its own, as 3 with DSCP 26
# cables: 3 m as 5 m, 20 m as 40 m: vendors' tables of headroom know lengths of 5, 40 and 300 m
set -e
nv set system hostname leaf0
nv set interface swp1-3 link state up
nv set interface swp1-3 link mtu 9000
nv set interface bond1 bond member swp2-3
nv set interface bond1 link mtu 9000
nv set qos traffic-pool default-lossless memory-percent 50
nv set qos traffic-pool default-lossy memory-percent 50
nv set qos mapping default-global trust both
nv set qos mapping default-global pcp 0 switch-priority 0
nv set qos mapping default-global dscp 0,1,2,3,4,5,6,7 switch-priority 0
nv set qos mapping default-global pcp 1 switch-priority 1
nv set qos mapping default-global dscp 8,9,10,11,12,13,14,15 switch-priority 1
nv set qos mapping default-global pcp 2 switch-priority 2
nv set qos mapping default-global dscp 16,17,18,19,20,21,22,23 switch-priority 2
nv set qos mapping default-global pcp 3 switch-priority 3
nv set qos mapping default-global dscp 24,25,26,27,28,29,30,31 switch-priority 3
nv set qos mapping default-global pcp 4 switch-priority 4
nv set qos mapping default-global dscp 32,33,34,35,36,37,38,39 switch-priority 4
nv set qos mapping default-global pcp 5 switch-priority 5
nv set qos mapping default-global dscp 40,41,42,43,44,45,46,47 switch-priority 5
nv set qos mapping default-global pcp 6 switch-priority 6
nv set qos mapping default-global dscp 48,49,50,51,52,53,54,55 switch-priority 6
nv set qos mapping default-global pcp 7 switch-priority 7
nv set qos mapping default-global dscp 56,57,58,59,60,61,62,63 switch-priority 7
nv set qos egress-queue-mapping default-global switch-priority 0 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 1 traffic-class 1
nv set qos egress-queue-mapping default-global switch-priority 2 traffic-class 2
nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 3
nv set qos egress-queue-mapping default-global switch-priority 4 traffic-class 4
nv set qos egress-queue-mapping default-global switch-priority 5 traffic-class 5
nv set qos egress-queue-mapping default-global switch-priority 6 traffic-class 6
nv set qos egress-queue-mapping default-global switch-priority 7 traffic-class 7
nv set qos egress-scheduler default-global traffic-class 0 mode dwrr
nv set qos egress-scheduler default-global traffic-class 0 bw-percent 50
nv set qos egress-scheduler default-global traffic-class 3 mode dwrr
nv set qos egress-scheduler default-global traffic-class 3 bw-percent 50
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set qos pfc lossless-5m switch-priority 0
nv set qos pfc lossless-5m tx enable
nv set qos pfc lossless-5m rx enable
nv set qos pfc lossless-5m cable-length 5
nv set interface swp1 qos pfc profile lossless-5m
nv set qos pfc lossless-40m switch-priority 0
nv set qos pfc lossless-40m tx enable
nv set qos pfc lossless-40m rx enable
nv set qos pfc lossless-40m cable-length 40
nv set interface swp2-3 qos pfc profile lossless-40m
nv set qos pfc-watchdog polling-interval 200
nv set qos pfc-watchdog robustness 1
nv set interface swp1-3 qos pfc-watchdog state enable
nv set qos congestion-control default-global traffic-class 0 ecn enable
nv set qos congestion-control default-global traffic-class 0 red disable
nv set qos congestion-control default-global traffic-class 0 min-threshold 150000
nv set qos congestion-control default-global traffic-class 0 max-threshold 1500000
nv set qos congestion-control default-global traffic-class 0 probability 100
nv config apply -y
