#!/bin/bash
mlnx_qos -i eth0 --trust dscp
mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0
mlnx_qos -i eth1 --pfc 0,0,0,1,0,0,0,0
