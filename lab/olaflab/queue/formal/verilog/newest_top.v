// What olaf_newest learns, with any frames and commands, for olaflab/queue/formal.
`include "olaf_layout.vh"
`default_nettype none
module formal_top (
    input wire        clk,
    input wire        acknowledge,
    input wire        acknowledged,
    input wire [15:0] version,
    input wire        judge,
    input wire        judged,
    input wire        stale,
    input wire        command,
    input wire        command_index,
    input wire        forget,
    input wire        index
);
    localparam INDICES = 2, ROW_BITS = 25;

    // Both rows are cleared, as after reset.
    reg [1:0] step = 2'd0;
    wire      clearing = !step[1];
    always @(posedge clk) if (clearing) step <= step + 2'd1;

    wire learning;
    olaf_newest #(.INDEX_BITS(1)) newest (
        .clk(clk), .rst(clearing), .clearing(clearing), .clearing_index(step[0]),
        .acknowledge(acknowledge), .acknowledged(acknowledged), .version(version),
        .judge(judge), .judged(judged), .stale(stale), .learning(learning),
        .command(command), .command_index(command_index), .forget(forget), .index(index), .known(), .newest()
    );

    // Frames come one after the other, and a command waits while something is learnt of one: `control` has
    // the second as a check of olaf_newest.
    always @* assume(!(acknowledge && judge));
    always @* assume(!forget || (command && !learning && !clearing));
endmodule
`default_nettype wire
