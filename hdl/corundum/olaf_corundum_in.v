// From one of the shell's streams to the box: beats of WIDTH bits become beats of 512. A frame that came with an error
// ends with a beat of no byte, for which the box drops and counts it; so does one whose remainder a reset took away.
`default_nettype none
module olaf_corundum_in #(
    parameter WIDTH = 512        // bits of the shell's beats: 512, 256, 128 or 64
) (
    input  wire               clk,
    input  wire               rst,

    input  wire [WIDTH-1:0]   s_tdata,
    input  wire [WIDTH/8-1:0] s_tkeep,
    input  wire               s_error,  // with a frame's last beat
    input  wire               s_tlast,
    input  wire               s_tvalid,
    output wire               s_tready,

    output reg  [511:0]       m_tdata,
    output reg  [63:0]        m_tkeep,
    output reg                m_tlast,
    output reg                m_tvalid,
    input  wire               m_tready
);
    localparam PARTS = 512 / WIDTH;

    reg [2:0] part;       // where the next beat belongs
    reg       mid_frame;  // where the box is in its frame, whatever is reset here
    reg       owed;       // an end, to the box
    initial mid_frame = 1'b0;

    assign s_tready = !rst && !owed && (!m_tvalid || m_tready);
    wire   take = s_tvalid && s_tready;
    wire   whole = s_tlast || {29'd0, part} == PARTS - 1;

    integer i;
    always @(posedge clk) begin
        if (m_tvalid && m_tready) mid_frame <= !m_tlast;
        if (rst) begin
            part <= 3'd0;
            m_tvalid <= 1'b0;
            owed <= mid_frame;
        end else if (take) begin
            part <= whole ? 3'd0 : part + 3'd1;
            m_tvalid <= whole;
        end else if (!m_tvalid || m_tready) begin
            m_tvalid <= owed;
            owed <= 1'b0;
        end
    end
    always @(posedge clk)
        if (owed) {m_tlast, m_tkeep} <= {1'b1, 64'd0};
        else if (take) begin
            m_tlast <= s_tlast;
            for (i = 0; i < PARTS; i = i + 1) begin
                if ({29'd0, part} == i) m_tdata[WIDTH*i +: WIDTH] <= s_tdata;
                if (s_tlast && s_error) m_tkeep[WIDTH/8*i +: WIDTH/8] <= {(WIDTH/8){1'b0}};
                else if ({29'd0, part} == i) m_tkeep[WIDTH/8*i +: WIDTH/8] <= s_tkeep;
                else if (part == 3'd0) m_tkeep[WIDTH/8*i +: WIDTH/8] <= {(WIDTH/8){1'b0}};
            end
        end
endmodule
`default_nettype wire
