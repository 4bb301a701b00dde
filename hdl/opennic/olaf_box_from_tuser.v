// Generated from p4src/metadata.p4 and olafctl/wire/layouts.py by `olaflab generate`: do not edit.
//
// OlafQueue's tuser as VNP4₂'s metadata, field by field; what the queue does not know is 0.
`include "olaf_layout.vh"
`include "olaf_box_metadata.vh"
`default_nettype none
module olaf_box_from_tuser (
    input  wire [`OLAF_TUSER_BITS-1:0] tuser,
    output reg  [`OLAF_BOX_META_BITS-1:0]  metadata
);
    always @* begin
        metadata = {`OLAF_BOX_META_BITS{1'b0}};
        metadata[`OLAF_BOX_META_SIZE] = tuser[`OLAF_TUSER_SIZE];
        metadata[`OLAF_BOX_META_SRC] = tuser[`OLAF_TUSER_SRC];
        metadata[`OLAF_BOX_META_DST] = tuser[`OLAF_TUSER_DST];
        metadata[`OLAF_BOX_META_KIND] = tuser[`OLAF_TUSER_KIND];
        metadata[`OLAF_BOX_META_CLUSTER] = tuser[`OLAF_TUSER_CLUSTER];
        metadata[`OLAF_BOX_META_INDEX] = tuser[`OLAF_TUSER_INDEX];
        metadata[`OLAF_BOX_META_MEMBER] = tuser[`OLAF_TUSER_MEMBER];
        metadata[`OLAF_BOX_META_WORKER] = tuser[`OLAF_TUSER_WORKER];
        metadata[`OLAF_BOX_META_OCCUPANCY] = tuser[`OLAF_TUSER_OCCUPANCY];
        metadata[`OLAF_BOX_META_ACTIVE_CLUSTERS] = tuser[`OLAF_TUSER_ACTIVE_CLUSTERS];
        metadata[`OLAF_BOX_META_SLOTS] = tuser[`OLAF_TUSER_SLOTS];
        metadata[`OLAF_BOX_META_STATUS_FLAGS] = tuser[`OLAF_TUSER_STATUS_FLAGS];
    end
endmodule
`default_nettype wire
