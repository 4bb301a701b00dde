// Takes the first 16 bytes off each frame and shows them with the remainder. A frame must have more than 16 bytes.
`default_nettype none
module olaf_box_strip (
    input  wire         clk,
    input  wire         rst,

    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire         s_tready,

    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire [127:0] m_taken,  // the 16 bytes, all along the frame
    output wire         m_tlast,
    output wire         m_tvalid,
    input  wire         m_tready
);
    reg          held;       // 48 bytes wait for the next 16
    reg          closing;    // they were a frame's last
    reg  [383:0] rest;
    reg  [47:0]  rest_keep;
    reg  [127:0] head;

    // The beat that completes what is held, or closes it.
    wire ends_here = s_tlast && !s_tkeep[16];
    wire offer = held && (closing || s_tvalid);
    wire begins = !held && s_tvalid;

    assign m_tdata = closing ? {128'd0, rest} : {s_tdata[127:0], rest};
    assign m_tkeep = closing ? {16'd0, rest_keep} : {s_tkeep[15:0], rest_keep};
    assign m_tlast = closing || ends_here;
    assign m_taken = head;
    assign m_tvalid = offer;
    assign s_tready = !rst && (begins || (held && !closing && m_tready));

    wire take = s_tvalid && s_tready;

    always @(posedge clk)
        if (rst) begin
            held <= 1'b0;
            closing <= 1'b0;
        end else if (begins) begin
            held <= 1'b1;
            closing <= s_tlast;
        end else if (offer && m_tready) begin
            held <= !m_tlast;
            closing <= !closing && s_tlast && !ends_here;
        end

    always @(posedge clk)
        if (take) begin
            rest <= s_tdata[511:128];
            rest_keep <= s_tkeep[63:16];
            if (begins) head <= s_tdata[127:0];
        end
endmodule
`default_nettype wire
