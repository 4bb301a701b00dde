// Packet-ins to the host: an Ethernet header with the box's EtherType, the number of the front port the frame came
// in by, the frame. A slow host costs packet-ins, which are counted, and never makes the input wait.
`include "olaf_box_map.vh"
`default_nettype none
module olaf_box_host_out #(
    parameter DEPTH_BITS = 9,    // log2 of the beats stored
    parameter MAX_BYTES = 9216   // the longest frame
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         pause,   // begin no further frame
    output wire         resting, // and none is being sent

    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire [15:0]  s_src,   // the front port
    input  wire         s_tlast,
    input  wire         s_tvalid,

    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire [15:0]  m_tuser_size,
    output wire         m_tlast,
    output wire         m_tvalid,
    input  wire         m_tready,

    output wire         accepted,
    output wire         dropped_full,
    output wire         sent
);
    wire [511:0] in_data;
    wire [63:0]  in_keep;
    wire [15:0]  in_size, in_src;
    wire         in_last, in_valid, in_ready;
    wire         ready, dropped_oversize, dropped_malformed, dropped_cut;

    olaf_box_measure #(
        .DEPTH_BITS(DEPTH_BITS), .MAX_BYTES(MAX_BYTES), .USER_BITS(16), .DROP_WHEN_FULL(1), .OUTSIDE(0)
    ) measure (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tuser(s_src), .s_tlast(s_tlast), .s_tvalid(s_tvalid),
        .s_tready(ready),
        .m_tdata(in_data), .m_tkeep(in_keep), .m_tuser(in_src), .m_size(in_size), .m_tlast(in_last),
        .m_tvalid(in_valid), .m_tready(in_ready),
        .accepted(accepted), .dropped_oversize(dropped_oversize), .dropped_malformed(dropped_malformed),
        .dropped_full(dropped_full), .dropped_cut(dropped_cut)
    );

    reg          mid_frame;
    wire         go = mid_frame || !pause;
    wire         put_ready, out_last, out_valid, out_ready;
    wire [511:0] out_data;
    wire [63:0]  out_keep;
    wire [15:0]  out_size;
    reg  [15:0]  size;
    wire [15:0]  longer = in_size + 16'd16;

    // First byte lowest, as everywhere on the stream.
    function [15:0] wire16(input [15:0] v);
        wire16 = {v[7:0], v[15:8]};
    endfunction
    function [47:0] wire48(input [47:0] v);
        wire48 = {v[7:0], v[15:8], v[23:16], v[31:24], v[39:32], v[47:40]};
    endfunction
    wire [127:0] head = {wire16(in_src), wire16(`OLAF_BOX_HOST_ETHER_TYPE), wire48(`OLAF_BOX_HOST_SOURCE), {48{1'b1}}};

    assign in_ready = go && put_ready;
    always @(posedge clk)
        if (rst) mid_frame <= 1'b0;
        else if (in_valid && in_ready) mid_frame <= !in_last;
    always @(posedge clk) if (in_valid && in_ready) size <= longer;

    // The last beat may be one that the 16 bytes pushed out, when the frame's own are all in.
    assign out_size = mid_frame || !in_valid || !in_ready ? size : longer;

    olaf_box_prepend prepend (
        .clk(clk), .rst(rst),
        .s_tdata(in_data), .s_tkeep(in_keep), .s_head(head), .s_tlast(in_last), .s_tvalid(in_valid && go),
        .s_tready(put_ready),
        .m_tdata(out_data), .m_tkeep(out_keep), .m_tlast(out_last), .m_tvalid(out_valid), .m_tready(out_ready)
    );

    olaf_box_slice #(.WIDTH(577 + 16)) slice (
        .clk(clk), .rst(rst),
        .s_beat({out_size, out_last, out_keep, out_data}), .s_valid(out_valid), .s_ready(out_ready),
        .m_beat({m_tuser_size, m_tlast, m_tkeep, m_tdata}), .m_valid(m_tvalid), .m_ready(m_tready)
    );
    assign sent = m_tvalid && m_tready && m_tlast;

    reg leaving;
    always @(posedge clk)
        if (rst) leaving <= 1'b0;
        else if (m_tvalid && m_tready) leaving <= !m_tlast;
    assign resting = !mid_frame && !(in_valid && in_ready) && !out_valid && !m_tvalid && !leaving;

    wire unused = &{1'b0, ready, dropped_oversize, dropped_malformed, dropped_cut};
endmodule
`default_nettype wire
