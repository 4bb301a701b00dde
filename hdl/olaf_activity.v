// How many clusters sent within the last `window` cycles.
//
// One cluster is looked at a cycle, round robin, so a cluster stops counting at the first look after its
// window has passed: at most CLUSTERS cycles late.
`default_nettype none
module olaf_activity #(
    parameter CLUSTERS = 16,
    parameter CLUSTER_BITS = 4
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [31:0]             now,
    input  wire [31:0]             window,
    input  wire                    mark,
    input  wire [CLUSTER_BITS-1:0] cluster,
    output reg  [15:0]             active_clusters
);
    localparam LAST_CLUSTER = CLUSTERS - 1;
    localparam [CLUSTER_BITS-1:0] LAST = LAST_CLUSTER[CLUSTER_BITS-1:0];

    reg [31:0]             sent_at [0:(1<<CLUSTER_BITS)-1] /* verilator public_flat_rd */;
    reg [(1<<CLUSTER_BITS)-1:0] active /* verilator public_flat_rd */;
    reg [CLUSTER_BITS-1:0] looked_at /* verilator public_flat_rw */;

    wire starts = mark && !active[cluster];
    wire [31:0] age = now - sent_at[looked_at];
    wire ends = active[looked_at] && age > window && !(mark && cluster == looked_at);

    always @(posedge clk) if (mark) sent_at[cluster] <= now;

    always @(posedge clk)
        if (rst) begin
            active <= {(1<<CLUSTER_BITS){1'b0}};
            active_clusters <= 16'd0;
            looked_at <= {CLUSTER_BITS{1'b0}};
        end else begin
            looked_at <= looked_at == LAST ? {CLUSTER_BITS{1'b0}} : looked_at + 1'b1;
            if (ends) active[looked_at] <= 1'b0;
            if (mark) active[cluster] <= 1'b1;
            active_clusters <= active_clusters + {15'd0, starts} - {15'd0, ends};
        end
endmodule
`default_nettype wire
