#!/bin/bash
set -euo pipefail
for dev in $(ls /sys/class/infiniband/ | grep mlx5); do
  port=$(ls /sys/class/infiniband/$dev/device/net/ | head -1)
  mlnx_qos -i $port --trust dscp
  mlnx_qos -i $port --pfc 0,0,0,1,0,0,0,0          # priority 3
  echo 106 > /sys/class/infiniband/$dev/tc/1/traffic_class
  cma_roce_tos -d $dev -t 106
  echo 48 > /sys/class/net/$port/ecn/roce_np/cnp_dscp
  echo 1  > /sys/class/net/$port/ecn/roce_np/enable/3
  ethtool -A $port rx off tx off || true
  ip link set $port mtu 9000
done
tos=$(cma_roce_tos -d mlx5_0 2>/dev/null | head -n 1)
