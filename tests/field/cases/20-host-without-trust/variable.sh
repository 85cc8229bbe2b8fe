#!/bin/sh
PRIO=0,0,0,1,0,0,0,0
mlnx_qos -i eth0 --pfc $PRIO
