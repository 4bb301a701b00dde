// Generated from p4src/metadata.p4 and olafctl/wire/layouts.py by `olaflab generate`: do not edit.
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

// VNP4₁'s metadata as OlafQueue's tuser, field by field, for the two buses have opposite orders; and the tuser as
// VNP4₂'s metadata: what the queue does not know is 0.
`define OLAF_BOX_TUSER(metadata) { \
    metadata[`OLAF_BOX_META_STATUS_FLAGS], \
    metadata[`OLAF_BOX_META_SLOTS], \
    metadata[`OLAF_BOX_META_ACTIVE_CLUSTERS], \
    metadata[`OLAF_BOX_META_OCCUPANCY], \
    metadata[`OLAF_BOX_META_WORKER], \
    metadata[`OLAF_BOX_META_MEMBER], \
    metadata[`OLAF_BOX_META_INDEX], \
    metadata[`OLAF_BOX_META_CLUSTER], \
    metadata[`OLAF_BOX_META_KIND], \
    metadata[`OLAF_BOX_META_DST], \
    metadata[`OLAF_BOX_META_SRC], \
    metadata[`OLAF_BOX_META_SIZE] \
}
`define OLAF_BOX_METADATA(tuser) { \
    tuser[`OLAF_TUSER_SIZE], \
    tuser[`OLAF_TUSER_SRC], \
    tuser[`OLAF_TUSER_DST], \
    tuser[`OLAF_TUSER_KIND], \
    tuser[`OLAF_TUSER_CLUSTER], \
    tuser[`OLAF_TUSER_INDEX], \
    tuser[`OLAF_TUSER_MEMBER], \
    tuser[`OLAF_TUSER_WORKER], \
    tuser[`OLAF_TUSER_OCCUPANCY], \
    tuser[`OLAF_TUSER_ACTIVE_CLUSTERS], \
    tuser[`OLAF_TUSER_SLOTS], \
    tuser[`OLAF_TUSER_STATUS_FLAGS], \
    32'd0, \
    32'd0, \
    16'd0, \
    16'd0, \
    8'd0, \
    4'd0, \
    1'd0, \
    1'd0, \
    1'd0, \
    1'd0, \
    1'd0 \
}

`endif
