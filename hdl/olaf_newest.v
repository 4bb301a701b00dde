// The newest version of each index' weights, learnt from the ACKs that pass, for the staleness rule.
//
// Versions are serial numbers: an ACK of an older version is not believed. But the sixteenth in a row is: the
// server has begun again. And after sixteen updates in a row that were dropped as stale, with no ACK in between,
// what was learnt is forgotten: no worker hears of newer weights any more, and updates must pass. The two are
// counted apart.
//
// An ACK, the end of an update, a decision about an update and a command never need the row of an index in the
// same cycle: frames come in one after the other, and a command waits while something is `learning`.
`include "olaf_layout.vh"
`default_nettype none
module olaf_newest #(
    parameter INDEX_BITS = 4
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  clearing,       // one row is cleared a cycle
    input  wire [INDEX_BITS-1:0] clearing_index,

    input  wire                  acknowledge,    // an ACK passes: of this index, with weights of this version
    input  wire [INDEX_BITS-1:0] acknowledged,
    input  wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] version,
    input  wire                  judge,          // an update of this index has ended, which the rule has judged:
    input  wire [INDEX_BITS-1:0] judged,
    input  wire                  stale,          // it was dropped as stale, else the rule let it pass
    output reg                   learning,

    input  wire                  command,        // a command is about to act on this index, and nothing else needs a row,
    input  wire [INDEX_BITS-1:0] command_index,
    input  wire                  forget,         // it acts, and lets the index begin again
    input  wire [INDEX_BITS-1:0] index,          // of the update that comes to be decided

    output wire                  known,
    output wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] newest
);
    localparam COUNT_BITS = 4;
    localparam ROW_BITS = 1 + `OLAF_OLAF_WEIGHTS_VERSION_WIDTH + 2 * COUNT_BITS;

    reg [ROW_BITS-1:0]     rows [0:(1<<INDEX_BITS)-1];
    reg                    of_update, of_stale;
    reg [INDEX_BITS-1:0]   at;
    reg [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] acknowledged_version;

    wire [INDEX_BITS-1:0]  place = learning ? at : command ? command_index : index;
    wire [COUNT_BITS-1:0]  older_acks, stale_updates;   // in a row
    assign {known, newest, older_acks, stale_updates} = rows[place];

    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] after_newest = acknowledged_version - newest;
    wire doubted = known && after_newest[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1] && !(&older_acks);
    wire [ROW_BITS-1:0] after_ack = doubted ? {known, newest, older_acks + 4'd1, {COUNT_BITS{1'b0}}}
                                  : {1'b1, acknowledged_version, {(2 * COUNT_BITS){1'b0}}};
    wire [ROW_BITS-1:0] after_update = !of_stale ? {known, newest, older_acks, {COUNT_BITS{1'b0}}}
                                     : &stale_updates ? {1'b0, newest, {(2 * COUNT_BITS){1'b0}}}
                                     : {known, newest, older_acks, stale_updates + 4'd1};
    wire [ROW_BITS-1:0] learnt = of_update ? after_update : after_ack;

    wire unused = &{1'b0, after_newest};

    always @(posedge clk) learning <= !rst && (acknowledge || judge);
    always @(posedge clk) begin
        of_update <= judge;
        of_stale <= stale;
        at <= judge ? judged : acknowledged;
        acknowledged_version <= version;
    end
    always @(posedge clk)
        if (clearing) rows[clearing_index] <= {ROW_BITS{1'b0}};
        else if (learning || forget) rows[place] <= learning ? learnt : {ROW_BITS{1'b0}};

`ifndef SYNTHESIS
    always @(posedge clk)
        if (!clearing && learning && forget) begin
            $display("olaf_newest: a command and a frame in one cycle");
            $stop;
        end
`endif
endmodule
`default_nettype wire
