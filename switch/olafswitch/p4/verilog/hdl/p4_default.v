// A table without a key: what it does is its default action. One cycle.
`default_nettype none
module p4_default #(
    parameter ENTRY = 8
) (
    input  wire             clk,
    output reg  [ENTRY-1:0] entry,
    input  wire [ENTRY-1:0] write_entry,
    input  wire             write_default
);
    initial entry = {ENTRY{1'b0}};
    always @(posedge clk) if (write_default) entry <= write_entry;
endmodule
`default_nettype wire
