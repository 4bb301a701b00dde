// How many indices received an update within the last `window` cycles.
//
// One index is looked at a cycle, round robin, so an index stops counting at the first look after its
// window has passed: at most INDICES cycles late. An index is active while its two toggles differ: one
// changes when an update comes, the other when its window has passed, so that each memory has one writer.
`default_nettype none
module olaf_activity #(
    parameter INDICES = 16,
    parameter INDEX_BITS = 4
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    clearing,        // one index is cleared a cycle
    input  wire [INDEX_BITS-1:0] clearing_index,
    input  wire [31:0]             now,
    input  wire [31:0]             window,
    input  wire                    mark,
    input  wire [INDEX_BITS-1:0] index,
    output reg  [15:0]             active_clusters
);
    localparam LAST_INDEX = INDICES - 1;
    localparam [INDEX_BITS-1:0] LAST = LAST_INDEX[INDEX_BITS-1:0];

    reg [31:0]             sent_at [0:(1<<INDEX_BITS)-1] /* verilator public_flat_rd */;
    reg                    sent    [0:(1<<INDEX_BITS)-1] /* verilator public_flat_rd */;
    reg                    ended   [0:(1<<INDEX_BITS)-1] /* verilator public_flat_rd */;
    reg [INDEX_BITS-1:0] looked_at /* verilator public_flat_rw */;
    // sent_at[looked_at], read a cycle ahead: an age and its comparison take long enough.
    reg [31:0]             looked_at_sent /* verilator public_flat_rw */;

    wire [INDEX_BITS-1:0] next_look = looked_at == LAST ? {INDEX_BITS{1'b0}} : looked_at + 1'b1;
    wire starts = mark && sent[index] == ended[index];
    wire [31:0] age = now - looked_at_sent;
    wire ends = sent[looked_at] != ended[looked_at] && age > window && !(mark && index == looked_at);

    // Both ready by the time it is known which.
    wire [15:0] more = active_clusters + 16'd1, fewer = active_clusters - 16'd1;

    always @(posedge clk) if (mark) sent_at[index] <= now;
    always @(posedge clk)
        if (clearing) sent[clearing_index] <= 1'b0;
        else if (starts) sent[index] <= !sent[index];
    always @(posedge clk)
        if (clearing) ended[clearing_index] <= 1'b0;
        else if (ends) ended[looked_at] <= !ended[looked_at];

    always @(posedge clk)
        if (rst) begin
            active_clusters <= 16'd0;
            looked_at <= {INDEX_BITS{1'b0}};
            looked_at_sent <= now;
        end else begin
            looked_at <= next_look;
            looked_at_sent <= mark && index == next_look ? now : sent_at[next_look];
            if (starts && !ends) active_clusters <= more;
            if (ends && !starts) active_clusters <= fewer;
        end
endmodule
`default_nettype wire
