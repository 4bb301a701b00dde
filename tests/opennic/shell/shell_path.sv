// What a frame meets in OpenNIC's shell, from the CMACs' streams to the CMACs' and to QDMA's, all of it the shell's
// own RTL: the packet adapters, the 250 MHz box with the plug-in, and the QDMA subsystem's H2C and C2H. Two CMACs and
// two functions, as the plug-in is built.
`default_nettype none
module shell_path (
    input  wire          axis_aclk,        // 250 MHz
    input  wire          axil_aclk,        // 125 MHz
    input  wire          ref_clk_100mhz,
    input  wire          cmac_clk_0,       // 322 MHz, as the next one
    input  wire          cmac_clk_1,

    input  wire          shell_rstn,       // axil_aclk: a pulse resets all but the plug-in
    input  wire          mod_rstn,         // axil_aclk: a pulse resets the plug-in
    output wire          mod_rst_done,
    output wire [1:0]    adapter_rst_done,

    // Registers: of the box (axil_select 0), a packet adapter (1, 2) or a function (3, 4).
    input  wire [2:0]    axil_select,
    input  wire [31:0]   s_axil_awaddr,
    input  wire          s_axil_awvalid,
    output wire          s_axil_awready,
    input  wire [31:0]   s_axil_wdata,
    input  wire          s_axil_wvalid,
    output wire          s_axil_wready,
    output wire [1:0]    s_axil_bresp,
    output wire          s_axil_bvalid,
    input  wire          s_axil_bready,
    input  wire [31:0]   s_axil_araddr,
    input  wire          s_axil_arvalid,
    output wire          s_axil_arready,
    output wire [31:0]   s_axil_rdata,
    output wire [1:0]    s_axil_rresp,
    output wire          s_axil_rvalid,
    input  wire          s_axil_rready,

    // From the CMACs, which cannot be made to wait.
    input  wire [1023:0] cmac_rx_tdata,
    input  wire [127:0]  cmac_rx_tkeep,
    input  wire [1:0]    cmac_rx_tlast,
    input  wire [1:0]    cmac_rx_tuser_err,
    input  wire [1:0]    cmac_rx_tvalid,

    // To the CMACs.
    output wire [1023:0] cmac_tx_tdata,
    output wire [127:0]  cmac_tx_tkeep,
    output wire [1:0]    cmac_tx_tlast,
    output wire [1:0]    cmac_tx_tvalid,
    input  wire [1:0]    cmac_tx_tready,

    // What the receive adapters hand the box, to be looked at.
    output wire [1023:0] seen_tdata,
    output wire [127:0]  seen_tkeep,
    output wire [1:0]    seen_tlast,
    output wire [31:0]   seen_tuser_size,
    output wire [1:0]    seen_tvalid,
    output wire [31:0]   seen_uncounted,   // frames that ended at a full buffer, which no counter of the shell counts

    // From QDMA.
    input  wire [511:0]  h2c_tdata,
    input  wire          h2c_tlast,
    input  wire [31:0]   h2c_tuser_mdata,  // the frame's size
    input  wire [10:0]   h2c_tuser_qid,
    input  wire          h2c_tvalid,
    output wire          h2c_tready,

    // To QDMA: data and length, and a completion for each frame.
    output wire [511:0]  c2h_tdata,
    output wire [63:0]   c2h_tkeep,        // made here of `mty`, the empty bytes of the last beat
    output wire          c2h_tlast,
    output wire [15:0]   c2h_tuser_len,
    output wire [10:0]   c2h_tuser_qid,
    output wire          c2h_tvalid,
    input  wire          c2h_tready,
    output wire [511:0]  completion_tdata,
    output wire          completion_tvalid,
    input  wire          completion_tready
);
    localparam MAX_BYTES = 9600;
    wire [1:0] cmac_clk = {cmac_clk_1, cmac_clk_0};

    wire [4:0]   select = 5'd1 << axil_select;
    wire [4:0]   awready, wready, bvalid, arready, rvalid;
    wire [9:0]   bresp, rresp;
    wire [159:0] rdata;
    assign s_axil_awready = awready[axil_select];
    assign s_axil_wready = wready[axil_select];
    assign s_axil_bvalid = bvalid[axil_select];
    assign s_axil_bresp = bresp[2*axil_select +: 2];
    assign s_axil_arready = arready[axil_select];
    assign s_axil_rvalid = rvalid[axil_select];
    assign s_axil_rresp = rresp[2*axil_select +: 2];
    assign s_axil_rdata = rdata[32*axil_select +: 32];

    wire [1023:0] rx_data, tx_data, h2c_data, to_host_data;
    wire [127:0]  rx_keep, tx_keep, h2c_keep, to_host_keep;
    wire [31:0]   rx_size, rx_src, rx_dst, tx_size, tx_src, tx_dst;
    wire [31:0]   h2c_size, h2c_src, h2c_dst, to_host_size, to_host_src, to_host_dst;
    wire [1:0]    rx_last, rx_valid, rx_ready, tx_last, tx_valid, tx_ready;
    wire [1:0]    h2c_last, h2c_valid, h2c_ready, to_host_last, to_host_valid, to_host_ready;

    assign seen_tdata = rx_data;
    assign seen_tkeep = rx_keep;
    assign seen_tlast = rx_last;
    assign seen_tuser_size = rx_size;
    assign seen_tvalid = rx_valid & rx_ready;

    genvar i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : port
            packet_adapter #(.CMAC_ID(i), .MIN_PKT_LEN(64), .MAX_PKT_LEN(MAX_BYTES)) adapter (
                .s_axil_awvalid(s_axil_awvalid && select[1+i]), .s_axil_awaddr(s_axil_awaddr),
                .s_axil_awready(awready[1+i]), .s_axil_wvalid(s_axil_wvalid && select[1+i]),
                .s_axil_wdata(s_axil_wdata), .s_axil_wready(wready[1+i]), .s_axil_bvalid(bvalid[1+i]),
                .s_axil_bresp(bresp[2*(1+i) +: 2]), .s_axil_bready(s_axil_bready && select[1+i]),
                .s_axil_arvalid(s_axil_arvalid && select[1+i]), .s_axil_araddr(s_axil_araddr),
                .s_axil_arready(arready[1+i]), .s_axil_rvalid(rvalid[1+i]), .s_axil_rdata(rdata[32*(1+i) +: 32]),
                .s_axil_rresp(rresp[2*(1+i) +: 2]), .s_axil_rready(s_axil_rready && select[1+i]),
                .s_axis_tx_tvalid(tx_valid[i]), .s_axis_tx_tdata(tx_data[512*i +: 512]),
                .s_axis_tx_tkeep(tx_keep[64*i +: 64]), .s_axis_tx_tlast(tx_last[i]),
                .s_axis_tx_tuser_size(tx_size[16*i +: 16]), .s_axis_tx_tuser_src(tx_src[16*i +: 16]),
                .s_axis_tx_tuser_dst(tx_dst[16*i +: 16]), .s_axis_tx_tready(tx_ready[i]),
                .m_axis_tx_tvalid(cmac_tx_tvalid[i]), .m_axis_tx_tdata(cmac_tx_tdata[512*i +: 512]),
                .m_axis_tx_tkeep(cmac_tx_tkeep[64*i +: 64]), .m_axis_tx_tlast(cmac_tx_tlast[i]),
                .m_axis_tx_tuser_err(), .m_axis_tx_tready(cmac_tx_tready[i]),
                .s_axis_rx_tvalid(cmac_rx_tvalid[i]), .s_axis_rx_tdata(cmac_rx_tdata[512*i +: 512]),
                .s_axis_rx_tkeep(cmac_rx_tkeep[64*i +: 64]), .s_axis_rx_tlast(cmac_rx_tlast[i]),
                .s_axis_rx_tuser_err(cmac_rx_tuser_err[i] && cmac_rx_tlast[i]),
                .m_axis_rx_tvalid(rx_valid[i]), .m_axis_rx_tdata(rx_data[512*i +: 512]),
                .m_axis_rx_tkeep(rx_keep[64*i +: 64]), .m_axis_rx_tlast(rx_last[i]),
                .m_axis_rx_tuser_size(rx_size[16*i +: 16]), .m_axis_rx_tuser_src(rx_src[16*i +: 16]),
                .m_axis_rx_tuser_dst(rx_dst[16*i +: 16]), .m_axis_rx_tready(rx_ready[i]),
                .mod_rstn(shell_rstn), .mod_rst_done(adapter_rst_done[i]),
                .axil_aclk(axil_aclk), .axis_aclk(axis_aclk), .cmac_clk(cmac_clk[i])
            );
            reg [15:0] uncounted;
            assign seen_uncounted[16*i +: 16] = uncounted;
            always @(posedge cmac_clk[i])
                if (!adapter.cmac_rstn) uncounted <= 16'd0;
                else if (adapter.rx_inst.axis_buf_tvalid && adapter.rx_inst.axis_buf_tlast
                         && !adapter.rx_inst.axis_buf_tready) uncounted <= uncounted + 16'd1;
        end
    endgenerate

    wire [14:0] other_done;
    wire        box_done;
    box_250mhz #(
        .MIN_PKT_LEN(64), .MAX_PKT_LEN(MAX_BYTES), .USE_PHYS_FUNC(1), .NUM_PHYS_FUNC(2), .NUM_QDMA(1),
        .NUM_CMAC_PORT(2)
    ) box (
        .s_axil_awvalid(s_axil_awvalid && select[0]), .s_axil_awaddr(s_axil_awaddr), .s_axil_awready(awready[0]),
        .s_axil_wvalid(s_axil_wvalid && select[0]), .s_axil_wdata(s_axil_wdata), .s_axil_wready(wready[0]),
        .s_axil_bvalid(bvalid[0]), .s_axil_bresp(bresp[1:0]), .s_axil_bready(s_axil_bready && select[0]),
        .s_axil_arvalid(s_axil_arvalid && select[0]), .s_axil_araddr(s_axil_araddr), .s_axil_arready(arready[0]),
        .s_axil_rvalid(rvalid[0]), .s_axil_rdata(rdata[31:0]), .s_axil_rresp(rresp[1:0]),
        .s_axil_rready(s_axil_rready && select[0]),
        .s_axis_qdma_h2c_tvalid(h2c_valid), .s_axis_qdma_h2c_tdata(h2c_data), .s_axis_qdma_h2c_tkeep(h2c_keep),
        .s_axis_qdma_h2c_tlast(h2c_last), .s_axis_qdma_h2c_tuser_size(h2c_size),
        .s_axis_qdma_h2c_tuser_src(h2c_src), .s_axis_qdma_h2c_tuser_dst(h2c_dst),
        .s_axis_qdma_h2c_tready(h2c_ready),
        .m_axis_qdma_c2h_tvalid(to_host_valid), .m_axis_qdma_c2h_tdata(to_host_data),
        .m_axis_qdma_c2h_tkeep(to_host_keep), .m_axis_qdma_c2h_tlast(to_host_last),
        .m_axis_qdma_c2h_tuser_size(to_host_size), .m_axis_qdma_c2h_tuser_src(to_host_src),
        .m_axis_qdma_c2h_tuser_dst(to_host_dst), .m_axis_qdma_c2h_tready(to_host_ready),
        .m_axis_adap_tx_250mhz_tvalid(tx_valid), .m_axis_adap_tx_250mhz_tdata(tx_data),
        .m_axis_adap_tx_250mhz_tkeep(tx_keep), .m_axis_adap_tx_250mhz_tlast(tx_last),
        .m_axis_adap_tx_250mhz_tuser_size(tx_size), .m_axis_adap_tx_250mhz_tuser_src(tx_src),
        .m_axis_adap_tx_250mhz_tuser_dst(tx_dst), .m_axis_adap_tx_250mhz_tready(tx_ready),
        .s_axis_adap_rx_250mhz_tvalid(rx_valid), .s_axis_adap_rx_250mhz_tdata(rx_data),
        .s_axis_adap_rx_250mhz_tkeep(rx_keep), .s_axis_adap_rx_250mhz_tlast(rx_last),
        .s_axis_adap_rx_250mhz_tuser_size(rx_size), .s_axis_adap_rx_250mhz_tuser_src(rx_src),
        .s_axis_adap_rx_250mhz_tuser_dst(rx_dst), .s_axis_adap_rx_250mhz_tready(rx_ready),
        .mod_rstn({15'h7fff, mod_rstn}), .mod_rst_done({other_done, mod_rst_done}),
        .box_rstn(shell_rstn), .box_rst_done(box_done),
        .axil_aclk(axil_aclk), .ref_clk_100mhz(ref_clk_100mhz), .axis_aclk(axis_aclk)
    );

    // The QDMA subsystem without its IP.
    wire          qdma_rstn, qdma_done;
    wire [1023:0] from_qdma_data, to_qdma_data;
    wire [31:0]   from_qdma_size, to_qdma_size;
    wire [21:0]   from_qdma_qid, to_qdma_qid;
    wire [1:0]    from_qdma_last, from_qdma_valid, from_qdma_ready, to_qdma_last, to_qdma_valid, to_qdma_ready;
    wire [5:0]    mty;
    assign c2h_tkeep = {64{1'b1}} >> mty;

    generic_reset #(.NUM_INPUT_CLK(1), .RESET_DURATION(100)) qdma_reset (
        .mod_rstn(shell_rstn), .mod_rst_done(qdma_done), .clk(axil_aclk), .rstn(qdma_rstn)
    );
    qdma_subsystem_h2c #(.NUM_PHYS_FUNC(2)) h2c (
        .s_axis_qdma_h2c_tvalid(h2c_tvalid), .s_axis_qdma_h2c_tdata(h2c_tdata), .s_axis_qdma_h2c_tcrc(32'd0),
        .s_axis_qdma_h2c_tlast(h2c_tlast), .s_axis_qdma_h2c_tuser_qid(h2c_tuser_qid),
        .s_axis_qdma_h2c_tuser_port_id(3'd0), .s_axis_qdma_h2c_tuser_err(1'b0),
        .s_axis_qdma_h2c_tuser_mdata(h2c_tuser_mdata),
        .s_axis_qdma_h2c_tuser_mty(h2c_tlast ? -h2c_tuser_mdata[5:0] : 6'd0),
        .s_axis_qdma_h2c_tuser_zero_byte(1'b0), .s_axis_qdma_h2c_tready(h2c_tready),
        .m_axis_h2c_tvalid(from_qdma_valid), .m_axis_h2c_tdata(from_qdma_data), .m_axis_h2c_tlast(from_qdma_last),
        .m_axis_h2c_tuser_size(from_qdma_size), .m_axis_h2c_tuser_qid(from_qdma_qid),
        .m_axis_h2c_tready(from_qdma_ready),
        .h2c_status_valid(), .h2c_status_bytes(), .h2c_status_func_id(),
        .axis_aclk(axis_aclk), .axil_aresetn(qdma_rstn)
    );
    generate
        for (i = 0; i < 2; i = i + 1) begin : host
            qdma_subsystem_function #(.FUNC_ID(i), .QDMA_ID(0), .MIN_PKT_LEN(64), .MAX_PKT_LEN(MAX_BYTES)) func (
                .s_axil_awvalid(s_axil_awvalid && select[3+i]), .s_axil_awaddr(s_axil_awaddr),
                .s_axil_awready(awready[3+i]),
                .s_axil_wvalid(s_axil_wvalid && select[3+i]), .s_axil_wdata(s_axil_wdata), .s_axil_wready(wready[3+i]),
                .s_axil_bvalid(bvalid[3+i]), .s_axil_bresp(bresp[2*(3+i) +: 2]),
                .s_axil_bready(s_axil_bready && select[3+i]),
                .s_axil_arvalid(s_axil_arvalid && select[3+i]), .s_axil_araddr(s_axil_araddr),
                .s_axil_arready(arready[3+i]),
                .s_axil_rvalid(rvalid[3+i]), .s_axil_rdata(rdata[32*(3+i) +: 32]), .s_axil_rresp(rresp[2*(3+i) +: 2]),
                .s_axil_rready(s_axil_rready && select[3+i]),
                .s_axis_h2c_tvalid(from_qdma_valid[i]), .s_axis_h2c_tdata(from_qdma_data[512*i +: 512]),
                .s_axis_h2c_tlast(from_qdma_last[i]), .s_axis_h2c_tuser_size(from_qdma_size[16*i +: 16]),
                .s_axis_h2c_tuser_qid(from_qdma_qid[11*i +: 11]), .s_axis_h2c_tready(from_qdma_ready[i]),
                .m_axis_h2c_tvalid(h2c_valid[i]), .m_axis_h2c_tdata(h2c_data[512*i +: 512]),
                .m_axis_h2c_tkeep(h2c_keep[64*i +: 64]), .m_axis_h2c_tlast(h2c_last[i]),
                .m_axis_h2c_tuser_size(h2c_size[16*i +: 16]), .m_axis_h2c_tuser_src(h2c_src[16*i +: 16]),
                .m_axis_h2c_tuser_dst(h2c_dst[16*i +: 16]), .m_axis_h2c_tready(h2c_ready[i]),
                .s_axis_c2h_tvalid(to_host_valid[i]), .s_axis_c2h_tdata(to_host_data[512*i +: 512]),
                .s_axis_c2h_tkeep(to_host_keep[64*i +: 64]), .s_axis_c2h_tlast(to_host_last[i]),
                .s_axis_c2h_tuser_size(to_host_size[16*i +: 16]), .s_axis_c2h_tuser_src(to_host_src[16*i +: 16]),
                .s_axis_c2h_tuser_dst(to_host_dst[16*i +: 16]), .s_axis_c2h_tready(to_host_ready[i]),
                .m_axis_c2h_tvalid(to_qdma_valid[i]), .m_axis_c2h_tdata(to_qdma_data[512*i +: 512]),
                .m_axis_c2h_tlast(to_qdma_last[i]), .m_axis_c2h_tuser_size(to_qdma_size[16*i +: 16]),
                .m_axis_c2h_tuser_qid(to_qdma_qid[11*i +: 11]), .m_axis_c2h_tready(to_qdma_ready[i]),
                .axil_aclk(axil_aclk), .axis_aclk(axis_aclk), .axis_master_aclk(axis_aclk),
                .axil_aresetn(qdma_rstn)
            );
        end
    endgenerate
    qdma_subsystem_c2h #(.NUM_PHYS_FUNC(2)) c2h (
        .s_axis_c2h_tvalid(to_qdma_valid), .s_axis_c2h_tdata(to_qdma_data), .s_axis_c2h_tlast(to_qdma_last),
        .s_axis_c2h_tuser_size(to_qdma_size), .s_axis_c2h_tuser_qid(to_qdma_qid), .s_axis_c2h_tready(to_qdma_ready),
        .m_axis_qdma_c2h_tvalid(c2h_tvalid), .m_axis_qdma_c2h_tdata(c2h_tdata), .m_axis_qdma_c2h_tcrc(),
        .m_axis_qdma_c2h_tlast(c2h_tlast), .m_axis_qdma_c2h_ctrl_marker(), .m_axis_qdma_c2h_ctrl_port_id(),
        .m_axis_qdma_c2h_ctrl_ecc(), .m_axis_qdma_c2h_ctrl_len(c2h_tuser_len),
        .m_axis_qdma_c2h_ctrl_qid(c2h_tuser_qid), .m_axis_qdma_c2h_ctrl_has_cmpt(), .m_axis_qdma_c2h_mty(mty),
        .m_axis_qdma_c2h_tready(c2h_tready),
        .m_axis_qdma_cpl_tvalid(completion_tvalid), .m_axis_qdma_cpl_tdata(completion_tdata),
        .m_axis_qdma_cpl_size(), .m_axis_qdma_cpl_dpar(), .m_axis_qdma_cpl_ctrl_qid(),
        .m_axis_qdma_cpl_ctrl_cmpt_type(), .m_axis_qdma_cpl_ctrl_wait_pld_pkt_id(),
        .m_axis_qdma_cpl_ctrl_port_id(), .m_axis_qdma_cpl_ctrl_marker(), .m_axis_qdma_cpl_ctrl_user_trig(),
        .m_axis_qdma_cpl_ctrl_col_idx(), .m_axis_qdma_cpl_ctrl_err_idx(), .m_axis_qdma_cpl_ctrl_no_wrb_marker(),
        .m_axis_qdma_cpl_tready(completion_tready),
        .c2h_status_valid(), .c2h_status_bytes(), .c2h_status_func_id(),
        .axis_aclk(axis_aclk), .axil_aresetn(qdma_rstn)
    );
    wire unused = &{1'b0, other_done, box_done, qdma_done, rx_src, rx_dst, h2c_src, h2c_dst, to_host_src, to_host_dst,
                    tx_src, to_host_keep};
endmodule
`default_nettype wire
