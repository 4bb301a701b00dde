// A pipeline register, or just wires: lets one parameter choose where a computation is cut.
`default_nettype none
module olaf_stage #(
    parameter WIDTH = 1,
    parameter REGISTERED = 1
) (
    input  wire             clk,
    input  wire             enable,
    input  wire [WIDTH-1:0] d,
    output wire [WIDTH-1:0] q
);
    generate
        if (REGISTERED != 0) begin : cut
            reg [WIDTH-1:0] held;
            always @(posedge clk) if (enable) held <= d;
            assign q = held;
        end else begin : through
            wire unused = &{1'b0, clk, enable};
            assign q = d;
        end
    endgenerate
endmodule
`default_nettype wire
