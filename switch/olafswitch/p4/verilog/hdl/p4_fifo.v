// A first-in first-out store in look-up table memory, with a register behind it. Who writes makes sure of room.
`default_nettype none
module p4_fifo #(
    parameter WIDTH = 8,
    parameter BITS = 5                // log2 of its places, without the register
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] s_data,
    input  wire             s_valid,
    output reg  [WIDTH-1:0] m_data,
    output reg              m_valid,
    input  wire             m_ready,
    output reg  [BITS:0]    level     // places in use
);
    reg [WIDTH-1:0] store [0:(1 << BITS) - 1];
    reg [BITS-1:0]  head, tail;
    wire            move = level != 0 && (!m_valid || m_ready);
    always @(posedge clk) begin
        if (s_valid) store[head] <= s_data;
        if (move) m_data <= store[tail];
        head <= head + {{(BITS-1){1'b0}}, s_valid};
        tail <= tail + {{(BITS-1){1'b0}}, move};
        level <= level + {{BITS{1'b0}}, s_valid} - {{BITS{1'b0}}, move};
        m_valid <= move || (m_valid && !m_ready);
        if (rst) begin
            head <= 0;
            tail <= 0;
            level <= 0;
            m_valid <= 1'b0;
        end
    end
endmodule
`default_nettype wire
