#!/bin/bash
PRIO=3
TOS=106
BUFFERS=30848,230912,0,0,0,0,0,0
if ! mlnx_qos -i "$nd" --trust dscp --pfc "$PFC_MASK" >/dev/null 2>&1 \
   || ! mlnx_qos -i "$nd" --buffer_size "$BUFFERS" >/dev/null 2>&1 \
   || ! mlnx_qos -i "$nd" --dscp2prio set,26,3 >/dev/null 2>&1 \
   || ! cma_roce_tos -d "$rd" -t "$TOS" >/dev/null 2>&1; then
  echo "  $nd: failed"
fi
mlnx_qos -i "$nd" --pfc=0,0,0,1,0,0,0,0 --trust=dscp
q="$(mlnx_qos -i "$nd" 2>/dev/null || true)"
