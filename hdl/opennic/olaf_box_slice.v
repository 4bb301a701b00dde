// A register slice: no combinational path crosses it, and its second place keeps one beat per cycle moving.
`default_nettype none
module olaf_box_slice #(
    parameter WIDTH = 1  // bits of a beat, everything included
) (
    input  wire             clk,
    input  wire             rst,

    input  wire [WIDTH-1:0] s_beat,
    input  wire             s_valid,
    output wire             s_ready,

    output reg  [WIDTH-1:0] m_beat,
    output reg              m_valid,
    input  wire             m_ready
);
    reg             open;   // false in reset: nothing may be taken then
    reg             second; // the second place is taken
    reg [WIDTH-1:0] waiting;

    assign s_ready = open && !second;
    wire take = s_valid && s_ready;
    wire free = !m_valid || m_ready;

    always @(posedge clk)
        if (rst) begin
            open <= 1'b0;
            second <= 1'b0;
            m_valid <= 1'b0;
        end else begin
            open <= 1'b1;
            if (free) begin
                m_valid <= second || take;
                second <= 1'b0;
            end else if (take) second <= 1'b1;
        end

    always @(posedge clk) begin
        if (free) m_beat <= second ? waiting : s_beat;
        if (take) waiting <= s_beat;
    end
endmodule
`default_nettype wire
