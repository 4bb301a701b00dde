// Where each cluster's updates are (OLAF §4, §12.1, figure 11): cluster_head and cluster_tail count its
// updates modulo three, cluster_status maps each of the up to two to its slot, and
// replace_status says whether the newest may be replaced, and by which worker.
`default_nettype none
`include "olaf_layout.vh"
module olaf_cluster_table #(
    parameter CLUSTERS = 16,
    parameter CLUSTER_BITS = 4,
    parameter SLOT_BITS = 3
) (
    input  wire                    clk,
    input  wire                    clearing,        // one cluster is emptied a cycle
    input  wire [CLUSTER_BITS-1:0] clearing_cluster,

    input  wire [CLUSTER_BITS-1:0] cluster,         // of the arriving update
    output wire                    present,         // it has an update in the queue, perhaps locked
    output wire [SLOT_BITS-1:0]   slot,           // of its newest
    output wire                    replaceable,
    output wire [`OLAF_TUSER_WORKER_WIDTH-1:0] replaceable_by,

    input  wire                    append,          // its update took `new_slot`
    input  wire                    change,          // set replace_status; with every append too
    input  wire [CLUSTER_BITS-1:0] changed,
    input  wire [SLOT_BITS-1:0]   new_slot,
    input  wire                    new_replaceable,
    input  wire [`OLAF_TUSER_WORKER_WIDTH-1:0] new_worker,

    input  wire                    depart,          // its oldest update has left
    input  wire [CLUSTER_BITS-1:0] departed
);
    localparam ROWS = 1 << CLUSTER_BITS;

    reg [1:0]            cluster_head    [0:ROWS-1];
    reg [1:0]            cluster_tail    [0:ROWS-1];
    reg [SLOT_BITS-1:0] cluster_status0 [0:ROWS-1];
    reg [SLOT_BITS-1:0] cluster_status1 [0:ROWS-1];
    reg [SLOT_BITS-1:0] cluster_status2 [0:ROWS-1];
    reg                  replace_flag    [0:ROWS-1];
    reg [`OLAF_TUSER_WORKER_WIDTH-1:0] replace_worker  [0:ROWS-1];

    function [1:0] next(input [1:0] pointer);
        next = pointer == 2'd2 ? 2'd0 : pointer + 2'd1;
    endfunction

    wire [1:0] tail = cluster_tail[cluster];
    assign present = cluster_head[cluster] != tail;
    assign slot = tail == 2'd1 ? cluster_status0[cluster]
                 : tail == 2'd2 ? cluster_status1[cluster]
                 :                cluster_status2[cluster];
    assign replaceable = replace_flag[cluster];
    assign replaceable_by = replace_worker[cluster];

    wire [1:0] changed_tail = cluster_tail[changed];
    wire [1:0] departed_head = cluster_head[departed];

    always @(posedge clk) begin
        if (clearing) cluster_tail[clearing_cluster] <= 2'd0;
        else if (append) cluster_tail[changed] <= next(changed_tail);
        if (clearing) cluster_head[clearing_cluster] <= 2'd0;
        else if (depart) cluster_head[departed] <= next(departed_head);
        if (append && changed_tail == 2'd0) cluster_status0[changed] <= new_slot;
        if (append && changed_tail == 2'd1) cluster_status1[changed] <= new_slot;
        if (append && changed_tail == 2'd2) cluster_status2[changed] <= new_slot;
        if (change) replace_flag[changed] <= new_replaceable;
        if (change) replace_worker[changed] <= new_worker;
    end

`ifndef SYNTHESIS
    always @(posedge clk)
        if (append && next(changed_tail) == cluster_head[changed]) begin
            $display("olaf_cluster_table: a third update of cluster %0d", changed);
            $stop;
        end
    initial
        if (CLUSTERS > ROWS) begin
            $display("olaf_cluster_table: %0d clusters do not fit %0d bits", CLUSTERS, CLUSTER_BITS);
            $stop;
        end
`else
    wire unused = CLUSTERS > 0;
`endif
endmodule
`default_nettype wire
