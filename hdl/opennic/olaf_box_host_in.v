// Packet-outs from the host: an Ethernet header with the box's EtherType, the front port number, the frame.
// What is not one (the host's own traffic on that interface) is dropped and counted.
`include "olaf_box_map.vh"
`default_nettype none
module olaf_box_host_in #(
    parameter DEPTH_BITS = 8,    // log2 of the beats stored
    parameter MAX_BYTES = 9216   // the longest frame, the 16 bytes in front included
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire         s_tready,

    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire [15:0]  m_size,
    output wire [15:0]  m_dst,      // front port number to leave by, or 0
    output wire         m_tlast,
    output wire         m_tvalid,
    input  wire         m_tready,

    output wire         accepted,
    output wire         dropped_oversize,
    output wire         dropped_malformed,
    output wire         dropped_cut,
    output wire         dropped       // not a packet-out
);
    localparam SHORTEST = 16 + 14;

    wire [511:0] in_data;
    wire [63:0]  in_keep;
    wire [15:0]  in_size;
    wire         in_last, in_valid, in_ready, in_user, dropped_full;

    olaf_box_measure #(.DEPTH_BITS(DEPTH_BITS), .MAX_BYTES(MAX_BYTES), .USER_BITS(1)) measure (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tuser(1'b0), .s_tlast(s_tlast), .s_tvalid(s_tvalid),
        .s_tready(s_tready),
        .m_tdata(in_data), .m_tkeep(in_keep), .m_tuser(in_user), .m_size(in_size), .m_tlast(in_last),
        .m_tvalid(in_valid), .m_tready(in_ready),
        .accepted(accepted), .dropped_oversize(dropped_oversize), .dropped_malformed(dropped_malformed),
        .dropped_full(dropped_full), .dropped_cut(dropped_cut)
    );

    reg         mid_frame, refusing;
    reg  [15:0] size;          // the stripper takes a frame in when the one before is out
    wire        packet_out = {in_data[8*12 +: 8], in_data[8*13 +: 8]} == `OLAF_BOX_HOST_ETHER_TYPE
                          && in_size >= SHORTEST;
    wire        refuse = mid_frame ? refusing : !packet_out;
    wire        strip_ready;
    wire [127:0] head;
    wire        begins = in_valid && !mid_frame && !refuse && strip_ready;

    assign in_ready = refuse || strip_ready;
    assign dropped = in_valid && refuse && in_last;

    always @(posedge clk)
        if (rst) mid_frame <= 1'b0;
        else if (in_valid && in_ready) mid_frame <= !in_last;
    always @(posedge clk) begin
        if (in_valid && in_ready) refusing <= refuse;
        if (begins) size <= in_size - 16'd16;
    end

    olaf_box_strip strip (
        .clk(clk), .rst(rst),
        .s_tdata(in_data), .s_tkeep(in_keep), .s_tlast(in_last), .s_tvalid(in_valid && !refuse),
        .s_tready(strip_ready),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_taken(head), .m_tlast(m_tlast), .m_tvalid(m_tvalid),
        .m_tready(m_tready)
    );
    assign m_size = size;
    assign m_dst = {head[8*14 +: 8], head[8*15 +: 8]};

    wire unused = &{1'b0, in_user, dropped_full, head};
endmodule
`default_nettype wire
