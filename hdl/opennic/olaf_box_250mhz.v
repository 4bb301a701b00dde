// OpenNIC's 250 MHz user box with Olaf in it (docs/opennic.md), and what Corundum's application block has inside.
//
//   CMACs ─ measure ─┐                       ┌─ to host ─ host (packet-in)
//                    ├─ arbiter ─ VNP4₁ ─────┤
//   host ─ from host ┘                       └─ OlafQueue ─ VNP4₂ ─ replicator ─ a FIFO for each CMAC ─ CMACs
//
// A frame's length is measured on the way in (that of an update longer than IN_HOLD beats is what it declares) and, as
// VNP4₂ may change it, on the way out; sizes that the shell gives are not used. What the programs know of a frame is
// its metadata, next to the stream.
`include "olaf_layout.vh"
`include "olaf_box_map.vh"
`include "olaf_box_metadata.vh"
`default_nettype none
module olaf_box_250mhz #(
    parameter PORTS = 2,              // CMACs, 1 … OLAF_BOX_PORTS
    parameter FUNCTIONS = 1,          // PCI Express functions; control traffic is function 0's, others carry none
    parameter [31:0] BUILD_ID = 32'd0,// first 32 bits of the build's digest
    parameter MAX_BYTES = 9216,       // the longest frame let in
    parameter SHELL_MAX_BYTES = 9600, // the longest the shell takes
    parameter IN_BITS = 8,            // log2 of the beats stored at each input
    parameter IN_HOLD = 24,           // beats of an update that are stored there before it goes on; 0: all are
    parameter [7:0] NEVER_WAITS = 8'd0, // a bit for each port: its frames are dropped, not held up, when its store is full
    parameter HOST_BITS = 9,          // log2 of the beats of packet-ins stored
    parameter OUT_BITS = 9,           // log2 of the beats the replicator stores
    parameter PORT_BITS = 8,          // log2 of the beats stored at each output
    parameter GROUP_BITS = 11,        // log2 of the multicast groups
    parameter COPY_BITS = 12,         // log2 of the copy table
    parameter BLOCKS_AT_REF = 0,      // whether the registers of VNP4₁ and VNP4₂ are at ref_clk_100mhz
    parameter STALL_CYCLES = 250_000  // a port that has not moved for so long no longer holds up the others
) (
    input  wire                     axis_aclk,       // 250 MHz
    input  wire                     axil_aclk,       // 125 MHz
    input  wire                     ref_clk_100mhz,

    input  wire                     mod_rstn,        // axil_aclk: a pulse
    output wire                     mod_rst_done,
    input  wire                     axil_aresetn,    // of the register port alone

    input  wire [31:0]              s_axil_awaddr,
    input  wire                     s_axil_awvalid,
    output wire                     s_axil_awready,
    input  wire [31:0]              s_axil_wdata,
    input  wire                     s_axil_wvalid,
    output wire                     s_axil_wready,
    output wire [1:0]               s_axil_bresp,
    output wire                     s_axil_bvalid,
    input  wire                     s_axil_bready,
    input  wire [31:0]              s_axil_araddr,
    input  wire                     s_axil_arvalid,
    output wire                     s_axil_arready,
    output wire [31:0]              s_axil_rdata,
    output wire [1:0]               s_axil_rresp,
    output wire                     s_axil_rvalid,
    input  wire                     s_axil_rready,

    input  wire [512*PORTS-1:0]     s_axis_rx_tdata,
    input  wire [64*PORTS-1:0]      s_axis_rx_tkeep,
    input  wire [PORTS-1:0]         s_axis_rx_tlast,
    input  wire [PORTS-1:0]         s_axis_rx_tvalid,
    output wire [PORTS-1:0]         s_axis_rx_tready,

    output wire [512*PORTS-1:0]     m_axis_tx_tdata,
    output wire [64*PORTS-1:0]      m_axis_tx_tkeep,
    output wire [PORTS-1:0]         m_axis_tx_tlast,
    output wire [16*PORTS-1:0]      m_axis_tx_tuser_size,
    output wire [16*PORTS-1:0]      m_axis_tx_tuser_src,
    output wire [16*PORTS-1:0]      m_axis_tx_tuser_dst,
    output wire [PORTS-1:0]         m_axis_tx_tvalid,
    input  wire [PORTS-1:0]         m_axis_tx_tready,

    input  wire [512*FUNCTIONS-1:0] s_axis_h2c_tdata,
    input  wire [64*FUNCTIONS-1:0]  s_axis_h2c_tkeep,
    input  wire [FUNCTIONS-1:0]     s_axis_h2c_tlast,
    input  wire [FUNCTIONS-1:0]     s_axis_h2c_tvalid,
    output wire [FUNCTIONS-1:0]     s_axis_h2c_tready,

    output wire [512*FUNCTIONS-1:0] m_axis_c2h_tdata,
    output wire [64*FUNCTIONS-1:0]  m_axis_c2h_tkeep,
    output wire [FUNCTIONS-1:0]     m_axis_c2h_tlast,
    output wire [16*FUNCTIONS-1:0]  m_axis_c2h_tuser_size,
    output wire [16*FUNCTIONS-1:0]  m_axis_c2h_tuser_src,
    output wire [16*FUNCTIONS-1:0]  m_axis_c2h_tuser_dst,
    output wire [FUNCTIONS-1:0]     m_axis_c2h_tvalid,
    input  wire [FUNCTIONS-1:0]     m_axis_c2h_tready
);
    localparam BLOCKS = `OLAF_BOX_BLOCKS;
    localparam MOST = `OLAF_BOX_PORTS;
    localparam INPUTS = PORTS + 1;      // the last one is the host
    localparam IN_USER = 3 * 16;        // dst, src, size
    localparam META = `OLAF_BOX_META_BITS;
    localparam HEADER = 16;             // bytes in front of what the host sends

    wire clk = axis_aclk;
    wire rst, axil_rst, ref_rst, pause, resting;
    wire vnp4_1_ready, queue_ready, vnp4_2_ready;

    olaf_box_reset reset (
        .axil_aclk(axil_aclk), .axis_aclk(axis_aclk), .ref_clk(ref_clk_100mhz),
        .mod_rstn(mod_rstn), .mod_rst_done(mod_rst_done),
        .pause(pause), .resting(resting), .ready(vnp4_1_ready && queue_ready && vnp4_2_ready),
        .axil_rst(axil_rst), .axis_rst(rst), .ref_rst(ref_rst)
    );

    // Registers: one decoder, and a crossing into each block's clock.
    wire [BLOCKS-1:0]    ask, busy, answer;
    wire                 ask_write;
    wire [19:0]          ask_addr;
    wire [31:0]          ask_data;
    wire [2*BLOCKS-1:0]  answer_resp;
    wire [32*BLOCKS-1:0] answer_data;

    olaf_box_decoder #(.BLOCKS(BLOCKS), .ADDR_BITS(20), .BASE(`OLAF_BOX_BASE), .MASK(`OLAF_BOX_MASK)) decoder (
        .clk(axil_aclk), .rst(!axil_aresetn),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .ask(ask), .ask_write(ask_write), .ask_addr(ask_addr), .ask_data(ask_data), .busy(busy),
        .answer(answer), .answer_resp(answer_resp), .answer_data(answer_data)
    );

    wire [20*BLOCKS-1:0] awaddr, araddr;
    wire [32*BLOCKS-1:0] wdata, rdata;
    wire [4*BLOCKS-1:0]  wstrb;
    wire [2*BLOCKS-1:0]  bresp, rresp;
    wire [BLOCKS-1:0]    awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;

    genvar i;
    generate
        for (i = 0; i < BLOCKS; i = i + 1) begin : blocks
            localparam AT_AXIS = i == `OLAF_BOX_BOX || i == `OLAF_BOX_QUEUE || BLOCKS_AT_REF == 0;
            olaf_box_crossing #(.ADDR_BITS(20)) crossing (
                .s_clk(axil_aclk), .s_rst(axil_rst),
                .ask(ask[i]), .ask_write(ask_write), .ask_addr(ask_addr), .ask_data(ask_data),
                .busy(busy[i]), .answer(answer[i]), .answer_resp(answer_resp[2*i +: 2]),
                .answer_data(answer_data[32*i +: 32]),
                .m_clk(AT_AXIS ? axis_aclk : ref_clk_100mhz), .m_rst(AT_AXIS ? rst : ref_rst),
                .m_axil_awaddr(awaddr[20*i +: 20]), .m_axil_awvalid(awvalid[i]), .m_axil_awready(awready[i]),
                .m_axil_wdata(wdata[32*i +: 32]), .m_axil_wstrb(wstrb[4*i +: 4]), .m_axil_wvalid(wvalid[i]),
                .m_axil_wready(wready[i]), .m_axil_bresp(bresp[2*i +: 2]), .m_axil_bvalid(bvalid[i]),
                .m_axil_bready(bready[i]), .m_axil_araddr(araddr[20*i +: 20]), .m_axil_arvalid(arvalid[i]),
                .m_axil_arready(arready[i]), .m_axil_rdata(rdata[32*i +: 32]), .m_axil_rresp(rresp[2*i +: 2]),
                .m_axil_rvalid(rvalid[i]), .m_axil_rready(rready[i])
            );
        end
    endgenerate

    wire [32*MOST-1:0] port_number;
    wire [31:0] group_index, group_first, group_count, copy_index, copy_port;
    wire [31:0] copy_rewrite, copy_mac_high, copy_mac_low, copy_addr, copy_udp_port;
    wire        write_group, write_copy;
    wire [16*PORTS-1:0] port_numbers;

    // In: every port's frames with the port's number, the host's with the port they are for.
    wire [512*INPUTS-1:0]     in_data;
    wire [64*INPUTS-1:0]      in_keep;
    wire [IN_USER*INPUTS-1:0] in_user;
    wire [INPUTS-1:0]         in_last, in_valid, in_ready;
    wire [MOST-1:0]           got, oversize, malformed, full, cut;
    wire                      host_got, host_oversize, host_malformed, host_cut, host_dropped;

    generate
        for (i = 0; i < MOST; i = i + 1) begin : rx
            if (i < PORTS) begin : port
                assign port_numbers[16*i +: 16] = port_number[32*i +: 16];
                wire       user;
                wire [15:0] size;
                olaf_box_measure #(
                    .DEPTH_BITS(IN_BITS), .MAX_BYTES(MAX_BYTES), .USER_BITS(1), .HOLD(IN_HOLD),
                    .DROP_WHEN_FULL({31'd0, NEVER_WAITS[i]})
                ) measure (
                    .clk(clk), .rst(rst),
                    .s_tdata(s_axis_rx_tdata[512*i +: 512]), .s_tkeep(s_axis_rx_tkeep[64*i +: 64]), .s_tuser(1'b0),
                    .s_tlast(s_axis_rx_tlast[i]), .s_tvalid(s_axis_rx_tvalid[i]), .s_tready(s_axis_rx_tready[i]),
                    .m_tdata(in_data[512*i +: 512]), .m_tkeep(in_keep[64*i +: 64]), .m_tuser(user), .m_size(size),
                    .m_tlast(in_last[i]), .m_tvalid(in_valid[i]), .m_tready(in_ready[i]),
                    .accepted(got[i]), .dropped_oversize(oversize[i]), .dropped_malformed(malformed[i]),
                    .dropped_full(full[i]), .dropped_cut(cut[i])
                );
                assign in_user[IN_USER*i +: IN_USER] = {16'd0, port_numbers[16*i +: 16], size};
                wire unused = &{1'b0, user};
            end else begin : none
                assign {got[i], oversize[i], malformed[i], full[i], cut[i]} = 5'd0;
            end
        end
    endgenerate

    wire [15:0] host_size, host_dst;
    assign in_user[IN_USER*PORTS +: IN_USER] = {host_dst, `OLAF_BOX_CPU_PORT, host_size};
    olaf_box_host_in #(.DEPTH_BITS(IN_BITS), .MAX_BYTES(MAX_BYTES + HEADER)) host_in (
        .clk(clk), .rst(rst),
        .s_tdata(s_axis_h2c_tdata[511:0]), .s_tkeep(s_axis_h2c_tkeep[63:0]), .s_tlast(s_axis_h2c_tlast[0]),
        .s_tvalid(s_axis_h2c_tvalid[0]), .s_tready(s_axis_h2c_tready[0]),
        .m_tdata(in_data[512*PORTS +: 512]), .m_tkeep(in_keep[64*PORTS +: 64]), .m_size(host_size),
        .m_dst(host_dst), .m_tlast(in_last[PORTS]), .m_tvalid(in_valid[PORTS]), .m_tready(in_ready[PORTS]),
        .accepted(host_got), .dropped_oversize(host_oversize), .dropped_malformed(host_malformed),
        .dropped_cut(host_cut), .dropped(host_dropped)
    );

    // Other functions carry nothing: what they send goes away, one function's at a time so that each is counted.
    reg  [2:0] turn;
    reg  [7:0] open;
    always @(posedge clk) begin
        turn <= rst ? 3'd0 : turn + 3'd1;
        open <= rst ? 8'd0 : 8'd1 << (turn + 3'd1);
    end
    wire [7:0] other_last = {{(8-FUNCTIONS){1'b0}}, s_axis_h2c_tvalid & s_axis_h2c_tlast} & open & 8'hfe;
    generate
        for (i = 1; i < FUNCTIONS; i = i + 1) begin : other
            assign s_axis_h2c_tready[i] = open[i];
            assign m_axis_c2h_tdata[512*i +: 512] = 512'd0;
            assign m_axis_c2h_tkeep[64*i +: 64] = 64'd0;
            assign {m_axis_c2h_tlast[i], m_axis_c2h_tvalid[i]} = 2'd0;
            assign m_axis_c2h_tuser_size[16*i +: 16] = 16'd0;
        end
    endgenerate

    wire [511:0]        one_data;
    wire [63:0]         one_keep;
    wire [IN_USER-1:0]  one_user;
    wire                one_last, one_valid, one_ready;
    olaf_box_arbiter #(.INPUTS(INPUTS), .USER_BITS(IN_USER)) arbiter (
        .clk(clk), .rst(rst),
        .s_tdata(in_data), .s_tkeep(in_keep), .s_tuser(in_user), .s_tlast(in_last), .s_tvalid(in_valid),
        .s_tready(in_ready),
        .m_tdata(one_data), .m_tkeep(one_keep), .m_tuser(one_user), .m_tlast(one_last), .m_tvalid(one_valid),
        .m_tready(one_ready)
    );

    // VNP4₁.
    reg [META-1:0] fresh;
    always @* begin
        fresh = {META{1'b0}};
        {fresh[`OLAF_BOX_META_DST], fresh[`OLAF_BOX_META_SRC], fresh[`OLAF_BOX_META_SIZE]} = one_user;
    end
    wire [META-1:0]  meta1, meta2, meta_queue;
    wire [511:0]     data1, data2;
    wire [63:0]      keep1, keep2;
    wire             last1, valid1, ready1, last2, valid2, ready2;
    olaf_box_vnp4_1 vnp4_1 (
        .clk(clk), .rst(rst),
        .axil_clk(BLOCKS_AT_REF ? ref_clk_100mhz : axis_aclk), .axil_rst(BLOCKS_AT_REF ? ref_rst : rst),
        .s_tdata(one_data), .s_tkeep(one_keep), .s_metadata(fresh), .s_tlast(one_last), .s_tvalid(one_valid),
        .s_tready(one_ready),
        .m_tdata(data1), .m_tkeep(keep1), .m_metadata(meta1), .m_tlast(last1), .m_tvalid(valid1), .m_tready(ready1),
        .awaddr(awaddr[20*`OLAF_BOX_VNP4_1 +: 20]), .awvalid(awvalid[`OLAF_BOX_VNP4_1]), .awready(awready[`OLAF_BOX_VNP4_1]),
        .wdata(wdata[32*`OLAF_BOX_VNP4_1 +: 32]), .wstrb(wstrb[4*`OLAF_BOX_VNP4_1 +: 4]), .wvalid(wvalid[`OLAF_BOX_VNP4_1]), .wready(wready[`OLAF_BOX_VNP4_1]),
        .bresp(bresp[2*`OLAF_BOX_VNP4_1 +: 2]), .bvalid(bvalid[`OLAF_BOX_VNP4_1]), .bready(bready[`OLAF_BOX_VNP4_1]),
        .araddr(araddr[20*`OLAF_BOX_VNP4_1 +: 20]), .arvalid(arvalid[`OLAF_BOX_VNP4_1]), .arready(arready[`OLAF_BOX_VNP4_1]),
        .rdata(rdata[32*`OLAF_BOX_VNP4_1 +: 32]), .rresp(rresp[2*`OLAF_BOX_VNP4_1 +: 2]), .rvalid(rvalid[`OLAF_BOX_VNP4_1]), .rready(rready[`OLAF_BOX_VNP4_1])
    );
    assign vnp4_1_ready = one_ready;

    // To the host, which never makes anything wait, or to the queue.
    wire punt = meta1[`OLAF_BOX_META_PUNT];
    wire punted, dropped_punt, sent_host, host_resting;
    olaf_box_host_out #(.DEPTH_BITS(HOST_BITS), .MAX_BYTES(MAX_BYTES)) host_out (
        .clk(clk), .rst(rst), .pause(pause), .resting(host_resting),
        .s_tdata(data1), .s_tkeep(keep1), .s_src(meta1[`OLAF_BOX_META_SRC]), .s_tlast(last1), .s_tvalid(valid1 && punt),
        .m_tdata(m_axis_c2h_tdata[511:0]), .m_tkeep(m_axis_c2h_tkeep[63:0]),
        .m_tuser_size(m_axis_c2h_tuser_size[15:0]), .m_tlast(m_axis_c2h_tlast[0]),
        .m_tvalid(m_axis_c2h_tvalid[0]), .m_tready(m_axis_c2h_tready[0]),
        .accepted(punted), .dropped_full(dropped_punt), .sent(sent_host)
    );
    assign m_axis_c2h_tuser_src = {(16*FUNCTIONS){1'b0}};
    assign m_axis_c2h_tuser_dst = {(16*FUNCTIONS){1'b0}};
    assign ready1 = punt || queue_ready;

    wire [`OLAF_TUSER_BITS-1:0] to_queue, from_queue;
    wire [511:0]                queue_data;
    wire [63:0]                 queue_keep;
    wire                        queue_last, queue_valid;
    assign to_queue = `OLAF_BOX_TUSER(meta1);
    olaf_instance queue (
        .aclk(clk), .aresetn(!rst),
        .s_axis_tdata(data1), .s_axis_tkeep(keep1), .s_axis_tuser(to_queue), .s_axis_tlast(last1),
        .s_axis_tvalid(valid1 && !punt), .s_axis_tready(queue_ready),
        .m_axis_tdata(queue_data), .m_axis_tkeep(queue_keep), .m_axis_tuser(from_queue), .m_axis_tlast(queue_last),
        .m_axis_tvalid(queue_valid), .m_axis_tready(vnp4_2_ready),
        .s_axil_awaddr(awaddr[20*`OLAF_BOX_QUEUE +: `OLAF_BOX_QUEUE_BITS]), .s_axil_awvalid(awvalid[`OLAF_BOX_QUEUE]),
        .s_axil_awready(awready[`OLAF_BOX_QUEUE]), .s_axil_wdata(wdata[32*`OLAF_BOX_QUEUE +: 32]),
        .s_axil_wstrb(wstrb[4*`OLAF_BOX_QUEUE +: 4]), .s_axil_wvalid(wvalid[`OLAF_BOX_QUEUE]),
        .s_axil_wready(wready[`OLAF_BOX_QUEUE]), .s_axil_bresp(bresp[2*`OLAF_BOX_QUEUE +: 2]),
        .s_axil_bvalid(bvalid[`OLAF_BOX_QUEUE]), .s_axil_bready(bready[`OLAF_BOX_QUEUE]),
        .s_axil_araddr(araddr[20*`OLAF_BOX_QUEUE +: `OLAF_BOX_QUEUE_BITS]), .s_axil_arvalid(arvalid[`OLAF_BOX_QUEUE]),
        .s_axil_arready(arready[`OLAF_BOX_QUEUE]), .s_axil_rdata(rdata[32*`OLAF_BOX_QUEUE +: 32]),
        .s_axil_rresp(rresp[2*`OLAF_BOX_QUEUE +: 2]), .s_axil_rvalid(rvalid[`OLAF_BOX_QUEUE]),
        .s_axil_rready(rready[`OLAF_BOX_QUEUE])
    );

    // VNP4₂.
    assign meta_queue = `OLAF_BOX_METADATA(from_queue);
    olaf_box_vnp4_2 vnp4_2 (
        .clk(clk), .rst(rst),
        .axil_clk(BLOCKS_AT_REF ? ref_clk_100mhz : axis_aclk), .axil_rst(BLOCKS_AT_REF ? ref_rst : rst),
        .s_tdata(queue_data), .s_tkeep(queue_keep), .s_metadata(meta_queue), .s_tlast(queue_last),
        .s_tvalid(queue_valid), .s_tready(vnp4_2_ready),
        .m_tdata(data2), .m_tkeep(keep2), .m_metadata(meta2), .m_tlast(last2), .m_tvalid(valid2), .m_tready(ready2),
        .awaddr(awaddr[20*`OLAF_BOX_VNP4_2 +: 20]), .awvalid(awvalid[`OLAF_BOX_VNP4_2]), .awready(awready[`OLAF_BOX_VNP4_2]),
        .wdata(wdata[32*`OLAF_BOX_VNP4_2 +: 32]), .wstrb(wstrb[4*`OLAF_BOX_VNP4_2 +: 4]), .wvalid(wvalid[`OLAF_BOX_VNP4_2]), .wready(wready[`OLAF_BOX_VNP4_2]),
        .bresp(bresp[2*`OLAF_BOX_VNP4_2 +: 2]), .bvalid(bvalid[`OLAF_BOX_VNP4_2]), .bready(bready[`OLAF_BOX_VNP4_2]),
        .araddr(araddr[20*`OLAF_BOX_VNP4_2 +: 20]), .arvalid(arvalid[`OLAF_BOX_VNP4_2]), .arready(arready[`OLAF_BOX_VNP4_2]),
        .rdata(rdata[32*`OLAF_BOX_VNP4_2 +: 32]), .rresp(rresp[2*`OLAF_BOX_VNP4_2 +: 2]), .rvalid(rvalid[`OLAF_BOX_VNP4_2]), .rready(rready[`OLAF_BOX_VNP4_2])
    );

    // Out.
    wire [511:0]     copy_data;
    wire [63:0]      copy_keep;
    wire [15:0]      copy_size;
    wire [PORTS-1:0] copy_to, tx_ready;
    wire             copy_last, copy_valid, copied, oversize_out, malformed_out, dropped_port, dropped_group, pruned;
    wire             replicator_accepted, replicator_resting;
    wire [7:0]       kind2 = meta2[`OLAF_BOX_META_KIND];

    olaf_box_replicator #(
        .PORTS(PORTS), .DEPTH_BITS(OUT_BITS), .MAX_BYTES(SHELL_MAX_BYTES), .GROUP_BITS(GROUP_BITS), .COPY_BITS(COPY_BITS)
    ) replicator (
        .clk(clk), .rst(rst), .pause(pause), .resting(replicator_resting),
        .port_numbers(port_numbers),
        .write_group(write_group), .group_index(group_index[GROUP_BITS-1:0]),
        .group_first(group_first[COPY_BITS-1:0]), .group_count(group_count[COPY_BITS:0]),
        .write_copy(write_copy), .copy_index(copy_index[COPY_BITS-1:0]), .copy_port(copy_port[15:0]),
        .copy_rewrite(copy_rewrite[0]), .copy_mac({copy_mac_high[15:0], copy_mac_low}), .copy_addr(copy_addr),
        .copy_udp_port(copy_udp_port[15:0]),
        .s_tdata(data2), .s_tkeep(keep2), .s_tlast(last2), .s_src(meta2[`OLAF_BOX_META_SRC]),
        .s_dst(meta2[`OLAF_BOX_META_DST]), .s_group(meta2[`OLAF_BOX_META_GROUP]),
        .s_addressed(kind2 != `OLAF_BOX_KIND_BYPASS && kind2 != `OLAF_BOX_KIND_UPDATE),
        // An update from OlafQueue is as long as it declares, and VNP4₂ keeps its length.
        .s_declared(kind2 == `OLAF_BOX_KIND_UPDATE ? meta2[`OLAF_BOX_META_SIZE] : 16'd0),
        .s_tvalid(valid2), .s_tready(ready2),
        .m_tdata(copy_data), .m_tkeep(copy_keep), .m_tlast(copy_last), .m_size(copy_size), .m_port(copy_to),
        .m_tvalid(copy_valid), .m_tready(|(copy_to & tx_ready)),
        .accepted(replicator_accepted), .copied(copied), .dropped_oversize(oversize_out),
        .dropped_malformed(malformed_out), .dropped_port(dropped_port), .dropped_group(dropped_group),
        .pruned(pruned)
    );

    wire [MOST-1:0] sent, stalled, tx_resting;
    generate
        for (i = 0; i < MOST; i = i + 1) begin : tx
            if (i < PORTS) begin : port
                olaf_box_tx #(.PORT(i), .DEPTH_BITS(PORT_BITS), .STALL_CYCLES(STALL_CYCLES)) fifo (
                    .clk(clk), .rst(rst),
                    .s_tdata(copy_data), .s_tkeep(copy_keep), .s_size(copy_size), .s_tlast(copy_last),
                    .s_tvalid(copy_valid && copy_to[i]), .s_tready(tx_ready[i]),
                    .m_tdata(m_axis_tx_tdata[512*i +: 512]), .m_tkeep(m_axis_tx_tkeep[64*i +: 64]),
                    .m_tuser_size(m_axis_tx_tuser_size[16*i +: 16]), .m_tuser_src(m_axis_tx_tuser_src[16*i +: 16]),
                    .m_tuser_dst(m_axis_tx_tuser_dst[16*i +: 16]), .m_tlast(m_axis_tx_tlast[i]),
                    .m_tvalid(m_axis_tx_tvalid[i]), .m_tready(m_axis_tx_tready[i]),
                    .resting(tx_resting[i]), .sent(sent[i]), .dropped_stalled(stalled[i])
                );
            end else begin : none
                assign {sent[i], stalled[i], tx_resting[i]} = 3'b001;
            end
        end
    endgenerate
    assign resting = replicator_resting && host_resting && &tx_resting;

    olaf_box_registers #(
        .BUILD_ID(BUILD_ID), .PORTS(PORTS), .GROUPS(1 << GROUP_BITS), .COPIES(1 << COPY_BITS), .MAX_BYTES(MAX_BYTES)
    ) registers (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(awaddr[20*`OLAF_BOX_BOX +: `OLAF_BOX_BOX_BITS]), .s_axil_awvalid(awvalid[`OLAF_BOX_BOX]),
        .s_axil_awready(awready[`OLAF_BOX_BOX]), .s_axil_wdata(wdata[32*`OLAF_BOX_BOX +: 32]),
        .s_axil_wvalid(wvalid[`OLAF_BOX_BOX]), .s_axil_wready(wready[`OLAF_BOX_BOX]),
        .s_axil_bresp(bresp[2*`OLAF_BOX_BOX +: 2]), .s_axil_bvalid(bvalid[`OLAF_BOX_BOX]),
        .s_axil_bready(bready[`OLAF_BOX_BOX]),
        .s_axil_araddr(araddr[20*`OLAF_BOX_BOX +: `OLAF_BOX_BOX_BITS]), .s_axil_arvalid(arvalid[`OLAF_BOX_BOX]),
        .s_axil_arready(arready[`OLAF_BOX_BOX]), .s_axil_rdata(rdata[32*`OLAF_BOX_BOX +: 32]),
        .s_axil_rresp(rresp[2*`OLAF_BOX_BOX +: 2]), .s_axil_rvalid(rvalid[`OLAF_BOX_BOX]),
        .s_axil_rready(rready[`OLAF_BOX_BOX]),
        .port_number(port_number), .group_index(group_index),
        .group_first(group_first), .group_count(group_count), .copy_index(copy_index), .copy_port(copy_port),
        .copy_rewrite(copy_rewrite), .copy_mac_high(copy_mac_high), .copy_mac_low(copy_mac_low),
        .copy_addr(copy_addr), .copy_udp_port(copy_udp_port), .write_group(write_group), .write_copy(write_copy),
        .inc_in_port(got), .inc_oversize_port(oversize), .inc_malformed_port(malformed), .inc_full_port(full), .inc_cut_port(cut),
        .inc_in_host(host_got), .inc_oversize_host(host_oversize), .inc_malformed_host(host_malformed),
        .inc_cut_host(host_cut), .inc_dropped_host(host_dropped), .inc_dropped_function(|other_last),
        .inc_in_vnp4_1(one_valid && one_ready && one_last), .inc_out_vnp4_1(valid1 && ready1 && last1),
        .inc_punted(valid1 && punt && last1), .inc_dropped_punt(dropped_punt), .inc_out_host(sent_host),
        .inc_in_queue(valid1 && !punt && queue_ready && last1),
        .inc_in_vnp4_2(queue_valid && vnp4_2_ready && queue_last), .inc_out_vnp4_2(valid2 && ready2 && last2),
        .inc_oversize_out(oversize_out), .inc_malformed_out(malformed_out), .inc_copied(copied),
        .inc_dropped_port(dropped_port), .inc_dropped_group(dropped_group), .inc_pruned(pruned),
        .inc_out_port(sent), .inc_stalled_port(stalled)
    );

    wire unused = &{1'b0, s_axis_h2c_tdata, s_axis_h2c_tkeep, m_axis_c2h_tready, punted, replicator_accepted, port_number, group_index, group_first, group_count, copy_index,
                    copy_port, copy_rewrite, copy_mac_high, copy_udp_port,
                    awaddr, araddr, wstrb, meta1, meta2};
endmodule
`default_nettype wire
