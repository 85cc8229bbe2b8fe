#!/bin/sh
# Frames of the VLAN carry priority 3.
for i in 0 1 2 3 4 5 6 7; do ip link set dev eth1.100 type vlan egress-qos-map $i:3; done
mlnx_qos -i eth1 -f 0,0,0,1,0,0,0,0
