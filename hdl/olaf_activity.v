// How many clusters sent within the last `window` cycles.
//
// One cluster is looked at a cycle, round robin, so a cluster stops counting at the first look after its
// window has passed: at most CLUSTERS cycles late. A cluster is active while its two toggles differ: one
// changes when it sends again, the other when its window has passed, so that each memory has one writer.
`default_nettype none
module olaf_activity #(
    parameter CLUSTERS = 16,
    parameter CLUSTER_BITS = 4
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    clearing,        // one cluster is cleared a cycle
    input  wire [CLUSTER_BITS-1:0] clearing_cluster,
    input  wire [31:0]             now,
    input  wire [31:0]             window,
    input  wire                    mark,
    input  wire [CLUSTER_BITS-1:0] cluster,
    output reg  [15:0]             active_clusters
);
    localparam LAST_CLUSTER = CLUSTERS - 1;
    localparam [CLUSTER_BITS-1:0] LAST = LAST_CLUSTER[CLUSTER_BITS-1:0];

    reg [31:0]             sent_at [0:(1<<CLUSTER_BITS)-1] /* verilator public_flat_rd */;
    reg                    sent    [0:(1<<CLUSTER_BITS)-1] /* verilator public_flat_rd */;
    reg                    ended   [0:(1<<CLUSTER_BITS)-1] /* verilator public_flat_rd */;
    reg [CLUSTER_BITS-1:0] looked_at /* verilator public_flat_rw */;

    wire starts = mark && sent[cluster] == ended[cluster];
    wire [31:0] age = now - sent_at[looked_at];
    wire ends = sent[looked_at] != ended[looked_at] && age > window && !(mark && cluster == looked_at);

    always @(posedge clk) if (mark) sent_at[cluster] <= now;
    always @(posedge clk)
        if (clearing) sent[clearing_cluster] <= 1'b0;
        else if (starts) sent[cluster] <= !sent[cluster];
    always @(posedge clk)
        if (clearing) ended[clearing_cluster] <= 1'b0;
        else if (ends) ended[looked_at] <= !ended[looked_at];

    always @(posedge clk)
        if (rst) begin
            active_clusters <= 16'd0;
            looked_at <= {CLUSTER_BITS{1'b0}};
        end else begin
            looked_at <= looked_at == LAST ? {CLUSTER_BITS{1'b0}} : looked_at + 1'b1;
            active_clusters <= active_clusters + {15'd0, starts} - {15'd0, ends};
        end
endmodule
`default_nettype wire
