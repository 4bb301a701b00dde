// Model of AMD's AXI4-Stream FIFO, of one clock or two, with the ports and parameters that the shell uses.
`default_nettype none
module xpm_fifo_axis #(
    parameter CLOCKING_MODE = "common_clock",  // or "independent_clock"
    parameter FIFO_MEMORY_TYPE = "", PACKET_FIFO = "", ECC_MODE = "", USE_ADV_FEATURES = "",  // not modelled
    parameter int FIFO_DEPTH = 16,     // beats
    parameter int TDATA_WIDTH = 512,   // bits
    parameter int TID_WIDTH = 1,       // bits
    parameter int TDEST_WIDTH = 1,     // bits
    parameter int TUSER_WIDTH = 1,     // bits
    parameter int CDC_SYNC_STAGES = 2, // cycles from one clock to the other
    parameter int RELATED_CLOCKS = 0, SIM_ASSERT_CHK = 0, CASCADE_HEIGHT = 0,               // not modelled
    parameter int WR_DATA_COUNT_WIDTH = 1, RD_DATA_COUNT_WIDTH = 1,                         // not modelled
    parameter int PROG_FULL_THRESH = 10, PROG_EMPTY_THRESH = 10                             // not modelled
) (
    input  wire s_axis_tvalid, s_axis_tlast, m_axis_tready, injectsbiterr_axis, injectdbiterr_axis, s_aclk, m_aclk,
    input  wire s_aresetn,
    input  wire [TDATA_WIDTH-1:0] s_axis_tdata,
    input  wire [TDATA_WIDTH/8-1:0] s_axis_tkeep, s_axis_tstrb,
    input  wire [TID_WIDTH-1:0] s_axis_tid,
    input  wire [TDEST_WIDTH-1:0] s_axis_tdest,
    input  wire [TUSER_WIDTH-1:0] s_axis_tuser,
    output wire s_axis_tready, m_axis_tvalid, m_axis_tlast,
    output wire [TDATA_WIDTH-1:0] m_axis_tdata,
    output wire [TDATA_WIDTH/8-1:0] m_axis_tkeep, m_axis_tstrb,
    output wire [TID_WIDTH-1:0] m_axis_tid,
    output wire [TDEST_WIDTH-1:0] m_axis_tdest,
    output wire [TUSER_WIDTH-1:0] m_axis_tuser,
    output wire almost_empty_axis, prog_empty_axis, almost_full_axis, prog_full_axis,
    output wire [WR_DATA_COUNT_WIDTH-1:0] wr_data_count_axis,
    output wire [RD_DATA_COUNT_WIDTH-1:0] rd_data_count_axis,
    output wire sbiterr_axis, dbiterr_axis
);
    localparam TWO_CLOCKS = CLOCKING_MODE == "independent_clock";
    localparam WIDTH = TDATA_WIDTH + TDATA_WIDTH / 8 + TID_WIDTH + TDEST_WIDTH + TUSER_WIDTH + 1;
    wire        empty, full;
    wire [31:0] held;
    assign m_axis_tvalid = !empty;
    assign s_axis_tready = !full;
    fifo_model #(.WIDTH(WIDTH), .DEPTH(FIFO_DEPTH), .STAGES(TWO_CLOCKS ? CDC_SYNC_STAGES : 0)) fifo (
        .wr_clk(s_aclk), .rst(!s_aresetn), .wr_en(s_axis_tvalid), .full(full), .held(held),
        .rd_clk(TWO_CLOCKS ? m_aclk : s_aclk), .rd_en(m_axis_tready), .empty(empty),
        .din({s_axis_tlast, s_axis_tuser, s_axis_tdest, s_axis_tid, s_axis_tkeep, s_axis_tdata}),
        .dout({m_axis_tlast, m_axis_tuser, m_axis_tdest, m_axis_tid, m_axis_tkeep, m_axis_tdata})
    );
endmodule
`default_nettype wire
