// Generated from p4src/metadata.p4 by `olaflab generate`: do not edit.
// VitisNetP4's user metadata bus: the field that is declared first is in the top bits.
`ifndef OLAF_BOX_METADATA_VH
`define OLAF_BOX_METADATA_VH

`define OLAF_BOX_META_BITS 305
`define OLAF_BOX_META_SIZE 289 +: 16
`define OLAF_BOX_META_SRC 273 +: 16
`define OLAF_BOX_META_DST 257 +: 16
`define OLAF_BOX_META_KIND 249 +: 8
`define OLAF_BOX_META_CLUSTER 233 +: 16
`define OLAF_BOX_META_INDEX 217 +: 16
`define OLAF_BOX_META_MEMBER 209 +: 8
`define OLAF_BOX_META_WORKER 177 +: 32
`define OLAF_BOX_META_OCCUPANCY 153 +: 24
`define OLAF_BOX_META_ACTIVE_CLUSTERS 137 +: 16
`define OLAF_BOX_META_SLOTS 121 +: 16
`define OLAF_BOX_META_STATUS_FLAGS 113 +: 8
`define OLAF_BOX_META_WORKER_ADDR 81 +: 32
`define OLAF_BOX_META_SERVER_ADDR 49 +: 32
`define OLAF_BOX_META_GROUP 33 +: 16
`define OLAF_BOX_META_SEGMENTS 17 +: 16
`define OLAF_BOX_META_REFUSAL 9 +: 8
`define OLAF_BOX_META_EPOCH 5 +: 4
`define OLAF_BOX_META_KNOWN_WORKER 4 +: 1
`define OLAF_BOX_META_KNOWN_SERVER 3 +: 1
`define OLAF_BOX_META_PUNT 2 +: 1
`define OLAF_BOX_META_DROP 1 +: 1
`define OLAF_BOX_META_REWRITTEN 0 +: 1

`endif
