// How many frames may still be let in, so that each finds room for its result: the header pipeline never stops.
`default_nettype none
module p4_credits #(
    parameter BITS = 5                // log2 of the frames at a time
) (
    input  wire clk,
    input  wire rst,
    input  wire enter,                // a frame's first beat
    input  wire leave,                // a frame's result was used
    output reg  ready,                // at least two more frames have room: one may enter now and one next
    output reg [BITS:0] present
);
    wire [BITS:0] next = present + {{BITS{1'b0}}, enter} - {{BITS{1'b0}}, leave};
    always @(posedge clk) begin
        present <= rst ? {(BITS+1){1'b0}} : next;
        ready <= !rst && next < (1 << BITS) - 1;
    end
endmodule
`default_nettype wire
