// Where each index' updates are (OLAF §4, §12.1, figure 11): cluster_head and cluster_tail count its
// updates modulo three, cluster_status maps each of the up to two to its slot, and
// replace_status shows whether the newest may be replaced, and by which worker.
`include "olaf_layout.vh"
`default_nettype none
module olaf_index_table #(
    parameter INDICES = 16,
    parameter INDEX_BITS = 4,
    parameter SLOT_BITS = 3
) (
    input  wire                    clk,
    input  wire                    clearing,        // one index is emptied a cycle
    input  wire [INDEX_BITS-1:0] clearing_index,

    input  wire [INDEX_BITS-1:0] index,          // of the arriving update
    output wire                    present,         // it has an update in the queue, perhaps locked
    output wire [SLOT_BITS-1:0]   slot,           // of its newest
    output wire                    replaceable,
    output wire [`OLAF_TUSER_WORKER_WIDTH-1:0] replaceable_by,

    input  wire                    append,          // its update took `new_slot`
    input  wire                    change,          // set replace_status; with every append too
    input  wire [INDEX_BITS-1:0] changed,
    input  wire [SLOT_BITS-1:0]   new_slot,
    input  wire                    new_replaceable,
    input  wire [`OLAF_TUSER_WORKER_WIDTH-1:0] new_worker,

    input  wire                    depart,          // its oldest update has left
    input  wire [INDEX_BITS-1:0] departed
);
    localparam ROWS = 1 << INDEX_BITS;

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

    wire [1:0] tail = cluster_tail[index];
    assign present = cluster_head[index] != tail;
    assign slot = tail == 2'd1 ? cluster_status0[index]
                 : tail == 2'd2 ? cluster_status1[index]
                 :                cluster_status2[index];
    assign replaceable = replace_flag[index];
    assign replaceable_by = replace_worker[index];

    wire [1:0] changed_tail = cluster_tail[changed];
    wire [1:0] departed_head = cluster_head[departed];

    always @(posedge clk) begin
        if (clearing) cluster_tail[clearing_index] <= 2'd0;
        else if (append) cluster_tail[changed] <= next(changed_tail);
        if (clearing) cluster_head[clearing_index] <= 2'd0;
        else if (depart) cluster_head[departed] <= next(departed_head);
        if (append && changed_tail == 2'd0) cluster_status0[changed] <= new_slot;
        if (append && changed_tail == 2'd1) cluster_status1[changed] <= new_slot;
        if (append && changed_tail == 2'd2) cluster_status2[changed] <= new_slot;
        if (change) replace_flag[changed] <= new_replaceable;
        if (change) replace_worker[changed] <= new_worker;
    end

`ifndef SYNTHESIS
    always @(posedge clk)
        if (append)
            if (next(changed_tail) == cluster_head[changed]) begin
                $display("olaf_index_table: a third update of index %0d", changed);
                $stop;
            end
    initial
        if (INDICES > ROWS) begin
            $display("olaf_index_table: %0d indices do not fit %0d bits", INDICES, INDEX_BITS);
            $stop;
        end
`else
    wire unused = INDICES > 0;
`endif
endmodule
`default_nettype wire
