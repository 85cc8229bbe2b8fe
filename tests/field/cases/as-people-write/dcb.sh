#!/bin/sh
dcb pfc set dev eth0 prio-pfc all:off 3:on
dcb app add dev eth0 dscp-prio CS3:3 AF31:3 26:3
dcb ets set dev eth0 tc-tsa all:ets tc-bw 0:50 1:0 2:0 3:50 4:0 5:0 6:0 7:0
