// iSwitch sums (iSwitch §3, §4): what each index accumulates, and which round it finished last.
//
// A row shows whether a sum accumulates, in which slot, which members are in it and how many worker
// updates; and, apart from that, whether a round was finished and which. Where results have numbers, the last
// one is the finished round, and the members are all that ever were in a sum. A contribution and a command never
// change rows in the same cycle.
`include "olaf_layout.vh"
`default_nettype none
module olaf_accumulate #(
    parameter INDEX_BITS = 4,
    parameter SLOT_BITS = 3,
    parameter MEMBERS = 32,
    // {accumulates, slot, round, members, count, finished, finished round}
    parameter ROW_BITS = 1 + SLOT_BITS + `OLAF_OLAF_SEQ_WIDTH + MEMBERS + `OLAF_OLAF_COUNT_WIDTH + 1 + `OLAF_OLAF_SEQ_WIDTH
) (
    input  wire                  clk,
    input  wire                  clearing,        // one row is cleared a cycle
    input  wire [INDEX_BITS-1:0] clearing_index,

    input  wire [INDEX_BITS-1:0] index,           // of the arriving update
    output wire [ROW_BITS-1:0]   row,
    input  wire                  set,
    input  wire [INDEX_BITS-1:0] set_index,
    input  wire [ROW_BITS-1:0]   new_row,

    input  wire [INDEX_BITS-1:0] command_index,
    output wire [ROW_BITS-1:0]   command_row,
    input  wire                  command_set,
    input  wire [ROW_BITS-1:0]   command_new_row
);
    reg [ROW_BITS-1:0] rows [0:(1<<INDEX_BITS)-1];

    assign row = rows[index];
    assign command_row = rows[command_index];

    always @(posedge clk)
        if (clearing) rows[clearing_index] <= {ROW_BITS{1'b0}};
        else if (set || command_set) rows[set ? set_index : command_index] <= set ? new_row : command_new_row;

`ifndef SYNTHESIS
    always @(posedge clk)
        if (!clearing && set && command_set) begin
            $display("olaf_accumulate: a contribution and a command in one cycle");
            $stop;
        end
`endif
endmodule
`default_nettype wire
