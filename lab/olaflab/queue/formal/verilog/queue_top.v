// The whole queue, as small as it can be, with anything at its inputs, for olaflab/queue/formal.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`include "olaf_dispositions.vh"
`default_nettype none
module formal_top (
    input wire                          aclk,
    input wire [`OLAF_BEAT_BITS-1:0]    s_axis_tdata,
    input wire [`OLAF_BEAT_BYTES-1:0]   s_axis_tkeep,
    input wire [`OLAF_TUSER_BITS-1:0]   s_axis_tuser,
    input wire                          s_axis_tlast,
    input wire                          s_axis_tvalid,
    input wire                          m_axis_tready
);
    // One cycle of reset, then none.
    reg aresetn = 1'b0;
    always @(posedge aclk) aresetn <= 1'b1;

    localparam INDICES = 2, SLOTS = 2, BEATS = 2, MEMBERS = 2, ADDER_LATENCY = 4;
    olaf_queue #(
        .INDICES(INDICES), .SLOTS(SLOTS), .BEATS(BEATS), .MEMBERS(MEMBERS), .ADDER_LATENCY(ADDER_LATENCY),
        .BYPASS_BITS(2)
    ) queue (
        .aclk(aclk), .aresetn(aresetn),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tuser(s_axis_tuser),
        .s_axis_tlast(s_axis_tlast), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(),
        .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tuser(), .m_axis_tlast(), .m_axis_tvalid(),
        .m_axis_tready(m_axis_tready),
        // The registers are cut: what they say may change in every cycle.
        .s_axil_awaddr(12'd0), .s_axil_awvalid(1'b0), .s_axil_awready(), .s_axil_wdata(32'd0),
        .s_axil_wstrb(4'd0), .s_axil_wvalid(1'b0), .s_axil_wready(), .s_axil_bresp(), .s_axil_bvalid(),
        .s_axil_bready(1'b0), .s_axil_araddr(12'd0), .s_axil_arvalid(1'b0), .s_axil_arready(),
        .s_axil_rdata(), .s_axil_rresp(), .s_axil_rvalid(), .s_axil_rready(1'b0)
    );
endmodule
`default_nettype wire
