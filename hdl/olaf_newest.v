// The newest version of each index' weights, learnt from the ACKs that pass, for the staleness rule.
//
// Versions are serial numbers: an ACK of an older version is not believed. But where so many of them come in
// a row, or where so many updates are dropped as stale without an ACK in between, the server has begun again
// or no one hears of newer weights any more: what was learnt is replaced, or forgotten, so that updates pass.
//
// An ACK, a refusal, a decision about an update and a command never need the row of an index in the same
// cycle: frames come in one after the other, and a command waits while something is `learning`.
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
    input  wire [`OLAF_OLAF_POLICY_WIDTH-1:0] version,
    input  wire                  refuse,         // an update of this index was dropped as stale
    input  wire [INDEX_BITS-1:0] refused,
    output reg                   learning,

    input  wire                  command,        // a command acts on this index,
    input  wire [INDEX_BITS-1:0] command_index,
    input  wire                  forget,         // and lets it begin again
    input  wire [INDEX_BITS-1:0] index,          // of the update that comes to be decided

    output wire                  known,
    output wire [`OLAF_OLAF_POLICY_WIDTH-1:0] newest
);
    localparam DOUBT_BITS = 4;
    localparam ROW_BITS = 1 + `OLAF_OLAF_POLICY_WIDTH + DOUBT_BITS;

    reg [ROW_BITS-1:0]     rows [0:(1<<INDEX_BITS)-1];
    reg                    of_refusal;
    reg [INDEX_BITS-1:0]   at;
    reg [`OLAF_OLAF_POLICY_WIDTH-1:0] told;

    wire [INDEX_BITS-1:0]  place = learning ? at : command ? command_index : index;
    wire [DOUBT_BITS-1:0]  doubts;
    assign {known, newest, doubts} = rows[place];

    wire [`OLAF_OLAF_POLICY_WIDTH-1:0] ahead = told - newest;
    wire doubted = of_refusal || (known && ahead[`OLAF_OLAF_POLICY_WIDTH-1]);
    wire [ROW_BITS-1:0] learnt = doubted && !(&doubts) ? {known, newest, doubts + 4'd1}
                               : {!of_refusal, told, {DOUBT_BITS{1'b0}}};

    wire unused = &{1'b0, ahead};

    always @(posedge clk) learning <= !rst && (acknowledge || refuse);
    always @(posedge clk) begin
        of_refusal <= refuse;
        at <= refuse ? refused : acknowledged;
        told <= version;
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
