#!/bin/bash
for nic in eth0 eth1; do
  sudo mlnx_qos -i $nic --trust=dscp \
    --pfc 0,0,0,1,0,0,0,0
done
echo 106 | sudo tee /sys/class/infiniband/mlx5_0/tc/1/traffic_class
ip link set eth2.100 type vlan egress-qos-map 0:3
PFC_MASK="0,0,0,1,0,0,0,0"
TOS=106
mlnx_qos -i eth3 --trust dscp --pfc "$PFC_MASK" >/dev/null 2>&1 || echo "failed"
cma_roce_tos -d mlx5_3 -t "$TOS" &> /dev/null
echo $((26 << 2)) > /sys/class/infiniband/$dev/tc/1/traffic_class
ip link set "$IFACE" mtu "$MTU"
