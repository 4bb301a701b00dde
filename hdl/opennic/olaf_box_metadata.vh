// Generated from p4src/metadata.p4 by `olafctl generate`: do not edit.
// VitisNetP4's user metadata bus: the field that is declared first is in the top bits.
`ifndef OLAF_BOX_METADATA_VH
`define OLAF_BOX_METADATA_VH

`define OLAF_BOX_META_BITS 253
`define OLAF_BOX_META_SIZE 237 +: 16
`define OLAF_BOX_META_SRC 221 +: 16
`define OLAF_BOX_META_DST 205 +: 16
`define OLAF_BOX_META_KIND 197 +: 8
`define OLAF_BOX_META_CLUSTER 181 +: 16
`define OLAF_BOX_META_WORKER 149 +: 32
`define OLAF_BOX_META_OCCUPANCY 125 +: 24
`define OLAF_BOX_META_ACTIVE_CLUSTERS 109 +: 16
`define OLAF_BOX_META_SLOTS 93 +: 16
`define OLAF_BOX_META_STATUS_FLAGS 85 +: 8
`define OLAF_BOX_META_WORKER_ADDR 53 +: 32
`define OLAF_BOX_META_SERVER_ADDR 21 +: 32
`define OLAF_BOX_META_GROUP 5 +: 16
`define OLAF_BOX_META_KNOWN_WORKER 4 +: 1
`define OLAF_BOX_META_KNOWN_SERVER 3 +: 1
`define OLAF_BOX_META_PUNT 2 +: 1
`define OLAF_BOX_META_DROP 1 +: 1
`define OLAF_BOX_META_REWRITTEN 0 +: 1

`endif
