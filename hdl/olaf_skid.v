// A stream's register slice whose ready comes from a flip-flop: what arrives in the cycle in which the
// receiver stops is held. No latency while nothing is held.
`default_nettype none
module olaf_skid #(
    parameter WIDTH = 1  // bits of a beat and all that travels with it
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] s_data,
    input  wire             s_valid,
    output reg              s_ready,
    output wire [WIDTH-1:0] m_data,
    output wire             m_valid,
    input  wire             m_ready
);
    reg [WIDTH-1:0] held;
    reg             full;

    wire taken = s_valid && s_ready;
    assign m_valid = full || taken;
    assign m_data = full ? held : s_data;
    wire waits = m_valid && !m_ready;

    always @(posedge clk) if (taken) held <= s_data;

    always @(posedge clk)
        if (rst) begin
            full <= 1'b0;
            s_ready <= 1'b0;
        end else begin
            full <= waits;
            s_ready <= !waits;
        end
endmodule
`default_nettype wire
