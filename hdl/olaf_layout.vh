// Generated from olafctl/wire/layouts.py by `python -m olafctl.queue.generate`: do not edit.
// A header field of more than one byte is in network order: its first byte is its lowest here.
`ifndef OLAF_LAYOUT_VH
`define OLAF_LAYOUT_VH

`define OLAF_TUSER_BITS 168
`define OLAF_TUSER_SIZE 0 +: 16
`define OLAF_TUSER_SIZE_LOW 0
`define OLAF_TUSER_SRC 16 +: 16
`define OLAF_TUSER_SRC_LOW 16
`define OLAF_TUSER_DST 32 +: 16
`define OLAF_TUSER_DST_LOW 32
`define OLAF_TUSER_KIND 48 +: 8
`define OLAF_TUSER_KIND_LOW 48
`define OLAF_TUSER_CLUSTER 56 +: 16
`define OLAF_TUSER_CLUSTER_LOW 56
`define OLAF_TUSER_WORKER 72 +: 32
`define OLAF_TUSER_WORKER_LOW 72
`define OLAF_TUSER_OCCUPANCY 104 +: 24
`define OLAF_TUSER_OCCUPANCY_LOW 104
`define OLAF_TUSER_ACTIVE_CLUSTERS 128 +: 16
`define OLAF_TUSER_ACTIVE_CLUSTERS_LOW 128
`define OLAF_TUSER_SLOTS 144 +: 16
`define OLAF_TUSER_SLOTS_LOW 144
`define OLAF_TUSER_STATUS_FLAGS 160 +: 8
`define OLAF_TUSER_STATUS_FLAGS_LOW 160

`define OLAF_OLAF_VERSION 340 +: 4
`define OLAF_OLAF_VERSION_LOW 340
`define OLAF_OLAF_FRAME_TYPE 336 +: 4
`define OLAF_OLAF_FRAME_TYPE_LOW 336
`define OLAF_OLAF_FLAGS 344 +: 8
`define OLAF_OLAF_FLAGS_LOW 344
`define OLAF_OLAF_COUNT 352 +: 16
`define OLAF_OLAF_COUNT_LOW 352
`define OLAF_OLAF_SEQ 368 +: 32
`define OLAF_OLAF_SEQ_LOW 368
`define OLAF_OLAF_REWARD 400 +: 32
`define OLAF_OLAF_REWARD_LOW 400
`define OLAF_OLAF_GEN_TIME 432 +: 64
`define OLAF_OLAF_GEN_TIME_LOW 432
`define OLAF_OLAF_LENGTH 496 +: 16
`define OLAF_OLAF_LENGTH_LOW 496

`endif
