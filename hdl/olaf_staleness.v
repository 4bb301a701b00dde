// The staleness rule: whether an update is dropped, and by which power of two its lanes are divided, by how many
// versions ago the weights were that it was computed from.
`include "olaf_layout.vh"
`default_nettype none
module olaf_staleness (
    input  wire        enable,
    input  wire        aggregated,   // it was weighed where its constituents came in
    input  wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] staleness,
    input  wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] bound,
    input  wire [63:0] shifts,       // one for each length of the staleness in bits, 0 … 15
    output wire        weighs,       // it is one that the rule is for
    output wire        drops,
    output wire [3:0]  shift
);
    reg [3:0] entry;
    integer   length;
    always @* begin
        entry = shifts[3:0];
        for (length = 1; length < `OLAF_OLAF_WEIGHTS_VERSION_WIDTH; length = length + 1)
            if (staleness[length-1]) entry = shifts[4*length +: 4];
    end

    assign weighs = enable && !aggregated;
    assign drops = weighs && staleness > bound;
    assign shift = entry & {4{weighs}};
endmodule
`default_nettype wire
