// Generated from p4src/metadata.p4 and olafctl/wire/layouts.py by `olaflab generate`: do not edit.
//
// VNP4₁'s metadata as OlafQueue's tuser, field by field: the two buses have opposite orders.
`include "olaf_layout.vh"
`include "olaf_box_metadata.vh"
`default_nettype none
module olaf_box_to_tuser (
    input  wire [`OLAF_BOX_META_BITS-1:0]  metadata,
    output wire [`OLAF_TUSER_BITS-1:0] tuser
);
    assign tuser[`OLAF_TUSER_SIZE] = metadata[`OLAF_BOX_META_SIZE];
    assign tuser[`OLAF_TUSER_SRC] = metadata[`OLAF_BOX_META_SRC];
    assign tuser[`OLAF_TUSER_DST] = metadata[`OLAF_BOX_META_DST];
    assign tuser[`OLAF_TUSER_KIND] = metadata[`OLAF_BOX_META_KIND];
    assign tuser[`OLAF_TUSER_CLUSTER] = metadata[`OLAF_BOX_META_CLUSTER];
    assign tuser[`OLAF_TUSER_INDEX] = metadata[`OLAF_BOX_META_INDEX];
    assign tuser[`OLAF_TUSER_MEMBER] = metadata[`OLAF_BOX_META_MEMBER];
    assign tuser[`OLAF_TUSER_WORKER] = metadata[`OLAF_BOX_META_WORKER];
    assign tuser[`OLAF_TUSER_OCCUPANCY] = metadata[`OLAF_BOX_META_OCCUPANCY];
    assign tuser[`OLAF_TUSER_ACTIVE_CLUSTERS] = metadata[`OLAF_BOX_META_ACTIVE_CLUSTERS];
    assign tuser[`OLAF_TUSER_SLOTS] = metadata[`OLAF_BOX_META_SLOTS];
    assign tuser[`OLAF_TUSER_STATUS_FLAGS] = metadata[`OLAF_BOX_META_STATUS_FLAGS];
    wire unused = &{1'b0, metadata};
endmodule
`default_nettype wire
