#!/bin/busybox sh
# The first process of a guest: file systems, modules in their order, then Python; then off.
/bin/busybox --install -s /bin
export PATH=/bin PYTHONHOME=/python HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /tmp
for module in $(cat /modules/order); do insmod "/modules/$module"; done
ifconfig lo 127.0.0.1
/python/bin/python -S -s -m guests.inside
poweroff -f
