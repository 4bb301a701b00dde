// Olaf as Corundum's application (docs/corundum.md): the box between the MACs' streams and the host's, its registers at
// the beginning of the application's BAR. Everything is at the shell's core clock.
`default_nettype none
module olaf_corundum #(
    parameter LANES = 2,            // MACs, each with an interface of the host: 1 … 4
    parameter WIDTH = 512,          // bits of the shell's beats: 512 at 100G, 128 at 25G, 64 at 10G
    parameter TAG_BITS = 16,        // of its transmit tags
    parameter TX_USER = 17,         // bits of its transmit tuser: error, then the tag
    parameter RX_USER = 1,          // bits of its receive tuser: error, then the MAC's time stamp, if there is one
    parameter TIME_BITS = 96,       // of a completion's time stamp
    parameter ADDRESS_BITS = 24,    // of the application's BAR
    parameter SHELL_MAX_BYTES = 9214, // the longest frame that the shell takes, a packet-in included
    parameter [31:0] BUILD_ID = 32'd0 // first 32 bits of the build's digest
) (
    input  wire                       clk,
    input  wire                       rst,

    input  wire [ADDRESS_BITS-1:0]    s_axil_app_ctrl_awaddr,
    input  wire                       s_axil_app_ctrl_awvalid,
    output wire                       s_axil_app_ctrl_awready,
    input  wire [31:0]                s_axil_app_ctrl_wdata,
    input  wire                       s_axil_app_ctrl_wvalid,
    output wire                       s_axil_app_ctrl_wready,
    output wire [1:0]                 s_axil_app_ctrl_bresp,
    output wire                       s_axil_app_ctrl_bvalid,
    input  wire                       s_axil_app_ctrl_bready,
    input  wire [ADDRESS_BITS-1:0]    s_axil_app_ctrl_araddr,
    input  wire                       s_axil_app_ctrl_arvalid,
    output wire                       s_axil_app_ctrl_arready,
    output wire [31:0]                s_axil_app_ctrl_rdata,
    output wire [1:0]                 s_axil_app_ctrl_rresp,
    output wire                       s_axil_app_ctrl_rvalid,
    input  wire                       s_axil_app_ctrl_rready,

    // See olaf_corundum_streams.
    input  wire [WIDTH*LANES-1:0]     s_axis_sync_tx_tdata,
    input  wire [WIDTH/8*LANES-1:0]   s_axis_sync_tx_tkeep,
    input  wire [TX_USER*LANES-1:0]   s_axis_sync_tx_tuser,
    input  wire [LANES-1:0]           s_axis_sync_tx_tlast,
    input  wire [LANES-1:0]           s_axis_sync_tx_tvalid,
    output wire [LANES-1:0]           s_axis_sync_tx_tready,
    output wire [TIME_BITS*LANES-1:0] m_axis_sync_tx_cpl_ts,
    output wire [TAG_BITS*LANES-1:0]  m_axis_sync_tx_cpl_tag,
    output wire [LANES-1:0]           m_axis_sync_tx_cpl_valid,
    input  wire [LANES-1:0]           m_axis_sync_tx_cpl_ready,

    output wire [WIDTH*LANES-1:0]     m_axis_sync_tx_tdata,
    output wire [WIDTH/8*LANES-1:0]   m_axis_sync_tx_tkeep,
    output wire [TX_USER*LANES-1:0]   m_axis_sync_tx_tuser,
    output wire [LANES-1:0]           m_axis_sync_tx_tlast,
    output wire [LANES-1:0]           m_axis_sync_tx_tvalid,
    input  wire [LANES-1:0]           m_axis_sync_tx_tready,
    output wire [LANES-1:0]           s_axis_sync_tx_cpl_ready,

    input  wire [WIDTH*LANES-1:0]     s_axis_sync_rx_tdata,
    input  wire [WIDTH/8*LANES-1:0]   s_axis_sync_rx_tkeep,
    input  wire [RX_USER*LANES-1:0]   s_axis_sync_rx_tuser,
    input  wire [LANES-1:0]           s_axis_sync_rx_tlast,
    input  wire [LANES-1:0]           s_axis_sync_rx_tvalid,
    output wire [LANES-1:0]           s_axis_sync_rx_tready,

    output wire [WIDTH*LANES-1:0]     m_axis_sync_rx_tdata,
    output wire [WIDTH/8*LANES-1:0]   m_axis_sync_rx_tkeep,
    output wire [RX_USER*LANES-1:0]   m_axis_sync_rx_tuser,
    output wire [LANES-1:0]           m_axis_sync_rx_tlast,
    output wire [LANES-1:0]           m_axis_sync_rx_tvalid,
    input  wire [LANES-1:0]           m_axis_sync_rx_tready
);
    localparam PORTS = 2 * LANES;
    localparam HEADER = 16;            // bytes that the box puts in front of a packet-in
    localparam [7:0] MACS = (8'd1 << LANES) - 8'd1;

    wire [512*(PORTS+1)-1:0] in_data, out_data;
    wire [64*(PORTS+1)-1:0]  in_keep, out_keep;
    wire [PORTS:0]           in_last, in_valid, in_ready, out_last, out_valid, out_ready;

    wire done;
    olaf_corundum_streams #(
        .LANES(LANES), .WIDTH(WIDTH), .TAG_BITS(TAG_BITS), .TX_USER(TX_USER), .RX_USER(RX_USER), .TIME_BITS(TIME_BITS)
    ) streams (
        .clk(clk), .rst(rst), .box_rst_done(done),
        .s_axis_sync_tx_tdata(s_axis_sync_tx_tdata), .s_axis_sync_tx_tkeep(s_axis_sync_tx_tkeep),
        .s_axis_sync_tx_tuser(s_axis_sync_tx_tuser), .s_axis_sync_tx_tlast(s_axis_sync_tx_tlast),
        .s_axis_sync_tx_tvalid(s_axis_sync_tx_tvalid), .s_axis_sync_tx_tready(s_axis_sync_tx_tready),
        .m_axis_sync_tx_cpl_ts(m_axis_sync_tx_cpl_ts), .m_axis_sync_tx_cpl_tag(m_axis_sync_tx_cpl_tag),
        .m_axis_sync_tx_cpl_valid(m_axis_sync_tx_cpl_valid), .m_axis_sync_tx_cpl_ready(m_axis_sync_tx_cpl_ready),
        .m_axis_sync_tx_tdata(m_axis_sync_tx_tdata), .m_axis_sync_tx_tkeep(m_axis_sync_tx_tkeep),
        .m_axis_sync_tx_tuser(m_axis_sync_tx_tuser), .m_axis_sync_tx_tlast(m_axis_sync_tx_tlast),
        .m_axis_sync_tx_tvalid(m_axis_sync_tx_tvalid), .m_axis_sync_tx_tready(m_axis_sync_tx_tready),
        .s_axis_sync_tx_cpl_ready(s_axis_sync_tx_cpl_ready),
        .s_axis_sync_rx_tdata(s_axis_sync_rx_tdata), .s_axis_sync_rx_tkeep(s_axis_sync_rx_tkeep),
        .s_axis_sync_rx_tuser(s_axis_sync_rx_tuser), .s_axis_sync_rx_tlast(s_axis_sync_rx_tlast),
        .s_axis_sync_rx_tvalid(s_axis_sync_rx_tvalid), .s_axis_sync_rx_tready(s_axis_sync_rx_tready),
        .m_axis_sync_rx_tdata(m_axis_sync_rx_tdata), .m_axis_sync_rx_tkeep(m_axis_sync_rx_tkeep),
        .m_axis_sync_rx_tuser(m_axis_sync_rx_tuser), .m_axis_sync_rx_tlast(m_axis_sync_rx_tlast),
        .m_axis_sync_rx_tvalid(m_axis_sync_rx_tvalid), .m_axis_sync_rx_tready(m_axis_sync_rx_tready),
        .to_box_tdata(in_data), .to_box_tkeep(in_keep), .to_box_tlast(in_last), .to_box_tvalid(in_valid),
        .to_box_tready(in_ready),
        .of_box_tdata(out_data), .of_box_tkeep(out_keep), .of_box_tlast(out_last), .of_box_tvalid(out_valid),
        .of_box_tready(out_ready)
    );

    // The box decodes 20 bits: the BAR beyond is a place without registers, so that nothing repeats in it.
    localparam [31:0] NOWHERE = 32'h0003f000;
    wire [31:0] awaddr = |(s_axil_app_ctrl_awaddr >> 20) ? NOWHERE : {{(32-ADDRESS_BITS){1'b0}}, s_axil_app_ctrl_awaddr};
    wire [31:0] araddr = |(s_axil_app_ctrl_araddr >> 20) ? NOWHERE : {{(32-ADDRESS_BITS){1'b0}}, s_axil_app_ctrl_araddr};
    wire [16*PORTS-1:0] tx_size, tx_src, tx_dst;
    wire [15:0] c2h_size, c2h_src, c2h_dst;
    olaf_box_250mhz #(
        .PORTS(PORTS), .FUNCTIONS(1), .BUILD_ID(BUILD_ID), .MAX_BYTES(SHELL_MAX_BYTES - HEADER),
        .SHELL_MAX_BYTES(SHELL_MAX_BYTES), .IN_HOLD(0), .NEVER_WAITS(MACS)
    ) box (
        .axis_aclk(clk), .axil_aclk(clk), .ref_clk_100mhz(clk),
        .mod_rstn(!rst), .mod_rst_done(done), .axil_aresetn(!rst),
        .s_axil_awaddr(awaddr), .s_axil_awvalid(s_axil_app_ctrl_awvalid), .s_axil_awready(s_axil_app_ctrl_awready),
        .s_axil_wdata(s_axil_app_ctrl_wdata), .s_axil_wvalid(s_axil_app_ctrl_wvalid),
        .s_axil_wready(s_axil_app_ctrl_wready), .s_axil_bresp(s_axil_app_ctrl_bresp),
        .s_axil_bvalid(s_axil_app_ctrl_bvalid), .s_axil_bready(s_axil_app_ctrl_bready),
        .s_axil_araddr(araddr), .s_axil_arvalid(s_axil_app_ctrl_arvalid), .s_axil_arready(s_axil_app_ctrl_arready),
        .s_axil_rdata(s_axil_app_ctrl_rdata), .s_axil_rresp(s_axil_app_ctrl_rresp),
        .s_axil_rvalid(s_axil_app_ctrl_rvalid), .s_axil_rready(s_axil_app_ctrl_rready),
        .s_axis_rx_tdata(in_data[512*PORTS-1:0]), .s_axis_rx_tkeep(in_keep[64*PORTS-1:0]),
        .s_axis_rx_tlast(in_last[PORTS-1:0]), .s_axis_rx_tvalid(in_valid[PORTS-1:0]),
        .s_axis_rx_tready(in_ready[PORTS-1:0]),
        .m_axis_tx_tdata(out_data[512*PORTS-1:0]), .m_axis_tx_tkeep(out_keep[64*PORTS-1:0]),
        .m_axis_tx_tlast(out_last[PORTS-1:0]), .m_axis_tx_tuser_size(tx_size), .m_axis_tx_tuser_src(tx_src),
        .m_axis_tx_tuser_dst(tx_dst), .m_axis_tx_tvalid(out_valid[PORTS-1:0]), .m_axis_tx_tready(out_ready[PORTS-1:0]),
        .s_axis_h2c_tdata(in_data[512*PORTS +: 512]), .s_axis_h2c_tkeep(in_keep[64*PORTS +: 64]),
        .s_axis_h2c_tlast(in_last[PORTS]), .s_axis_h2c_tvalid(in_valid[PORTS]), .s_axis_h2c_tready(in_ready[PORTS]),
        .m_axis_c2h_tdata(out_data[512*PORTS +: 512]), .m_axis_c2h_tkeep(out_keep[64*PORTS +: 64]),
        .m_axis_c2h_tlast(out_last[PORTS]), .m_axis_c2h_tuser_size(c2h_size), .m_axis_c2h_tuser_src(c2h_src),
        .m_axis_c2h_tuser_dst(c2h_dst), .m_axis_c2h_tvalid(out_valid[PORTS]), .m_axis_c2h_tready(out_ready[PORTS])
    );
    wire unused = &{1'b0, tx_size, tx_src, tx_dst, c2h_size, c2h_src, c2h_dst};
endmodule
`default_nettype wire
