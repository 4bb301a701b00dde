// Puts 16 bytes in front of each frame.
`default_nettype none
module olaf_box_prepend (
    input  wire         clk,
    input  wire         rst,

    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire [127:0] s_head,   // the 16 bytes, with a frame's first beat
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire         s_tready,

    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire         m_tlast,
    output wire         m_tvalid,
    input  wire         m_tready
);
    reg         mid_frame;   // a frame has begun
    reg         closing;  // its last bytes did not fit: one more beat
    reg [127:0] carried;
    reg [15:0]  carried_keep;

    assign m_tdata = closing ? {384'd0, carried} : {s_tdata[383:0], mid_frame ? carried : s_head};
    assign m_tkeep = closing ? {48'd0, carried_keep} : {s_tkeep[47:0], 16'hffff};
    assign m_tlast = closing || (s_tlast && !s_tkeep[48]);
    assign m_tvalid = closing || s_tvalid;
    assign s_tready = !rst && !closing && m_tready;

    always @(posedge clk)
        if (rst) begin
            mid_frame <= 1'b0;
            closing <= 1'b0;
        end else if (m_tvalid && m_tready) begin
            mid_frame <= !m_tlast;
            closing <= !closing && s_tlast && s_tkeep[48];
        end

    always @(posedge clk)
        if (s_tvalid && s_tready) begin
            carried <= s_tdata[511:384];
            carried_keep <= s_tkeep[63:48];
        end
endmodule
`default_nettype wire
