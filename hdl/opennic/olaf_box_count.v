// Counts the bytes of each beat, in two steps: the beat as it came, then with its bytes.
`default_nettype none
module olaf_box_count #(
    parameter USER_BITS = 1   // what comes with a beat
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire                 s_valid,
    input  wire [576:0]         s_beat,     // tlast, tkeep, tdata
    input  wire [USER_BITS-1:0] s_user,

    output reg                  m_valid,    // two cycles later
    output reg  [576:0]         m_beat,
    output reg  [USER_BITS-1:0] m_user,
    output reg  [6:0]           m_bytes,
    output reg                  m_whole     // no hole, and full unless last
);
    // How many bytes, of a tkeep without a hole (with one the frame is dropped whatever this gives): halve it as often
    // as it has halves, a level of logic each, where adding its bits up would take twice as many.
    function [6:0] length(input [63:0] keep);
        integer i;
        reg [63:0] rest;
        begin
            rest = keep;
            length = {keep[63], 6'd0};
            for (i = 5; i >= 0; i = i - 1)
                if (!keep[63] && rest[(1 << i) - 1]) begin
                    length[i] = 1'b1;
                    rest = rest >> (1 << i);
                end
        end
    endfunction

    reg                 a_valid;
    reg [576:0]         a_beat;
    reg [USER_BITS-1:0] a_user;
    wire [63:0] a_keep = a_beat[575:512];
    wire        a_last = a_beat[576];
    wire        a_packed = a_keep[0] && (a_keep[63:1] & ~a_keep[62:0]) == 63'd0;

    always @(posedge clk) begin
        a_beat <= s_beat;
        a_user <= s_user;
        m_beat <= a_beat;
        m_user <= a_user;
        m_bytes <= length(a_keep);
        m_whole <= a_last ? a_packed : &a_keep;
    end
    always @(posedge clk)
        if (rst) begin
            a_valid <= 1'b0;
            m_valid <= 1'b0;
        end else begin
            a_valid <= s_valid;
            m_valid <= a_valid;
        end
endmodule
`default_nettype wire
