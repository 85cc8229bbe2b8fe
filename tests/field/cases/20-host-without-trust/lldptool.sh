#!/bin/sh
lldptool -T -i eth0 -V PFC enabled=3 willing=no
lldptool -T -i eth0 -V ETS-CFG tc_bw=70,0,0,30,0,0,0,0
