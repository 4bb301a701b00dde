// The shell's receive adapter in front of the box's measuring store, in one clock; and, for simulation only, plain
// models of the AMD memories that the adapter is made of, with the ports and parameters that it uses.
`default_nettype none
module shell_rx (
    input  wire         clk,
    input  wire         rst,
    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire         s_tuser,   // a receive error, with the last beat
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire [15:0]  m_tuser,   // the size that the shell gives
    output wire [15:0]  m_size,    // the size that the box measures
    output wire         m_tlast,
    output wire         m_tvalid,
    input  wire         m_tready
);
    wire [511:0] data;
    wire [63:0]  keep;
    wire [15:0]  size;
    wire         last, valid, ready;

    packet_adapter_rx #(.CMAC_ID(0), .MIN_PKT_LEN(64), .MAX_PKT_LEN(9600)) adapter (
        .s_axis_rx_tvalid(s_tvalid && !rst), .s_axis_rx_tdata(s_tdata), .s_axis_rx_tkeep(s_tkeep),
        .s_axis_rx_tlast(s_tlast), .s_axis_rx_tuser_err(s_tuser && s_tlast),
        .m_axis_rx_tvalid(valid), .m_axis_rx_tdata(data), .m_axis_rx_tkeep(keep), .m_axis_rx_tlast(last),
        .m_axis_rx_tuser_size(size), .m_axis_rx_tuser_src(), .m_axis_rx_tuser_dst(), .m_axis_rx_tready(ready),
        .rx_pkt_recv(), .rx_pkt_drop(), .rx_pkt_err(), .rx_bytes(),
        .axis_aclk(clk), .cmac_clk(clk), .cmac_rstn(!rst)
    );
    olaf_box_measure #(.USER_BITS(16)) measure (
        .clk(clk), .rst(rst),
        .s_tdata(data), .s_tkeep(keep), .s_tuser(size), .s_tlast(last), .s_tvalid(valid), .s_tready(ready),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tuser(m_tuser), .m_size(m_size), .m_tlast(m_tlast),
        .m_tvalid(m_tvalid), .m_tready(m_tready),
        .accepted(), .dropped_oversize(), .dropped_malformed(), .dropped_full(), .dropped_cut()
    );
endmodule

// First word falls through: `dout` is the oldest word whenever it is not empty.
module fifo_model #(parameter WIDTH = 16, DEPTH = 16) (
    input  wire             clk,
    input  wire             rst,
    input  wire             wr_en,
    input  wire [WIDTH-1:0] din,
    input  wire             rd_en,
    output wire [WIDTH-1:0] dout,
    output wire             empty,
    output wire             full
);
    reg [WIDTH-1:0] words [0:DEPTH-1];
    int             put, got;
    assign dout = words[got % DEPTH];
    assign empty = put == got;
    assign full = put - got == DEPTH;
    always @(posedge clk)
        if (rst) begin
            put <= 0;
            got <= 0;
        end else begin
            if (wr_en && !full) begin
                words[put % DEPTH] <= din;
                put <= put + 1;
            end
            if (rd_en && !empty) got <= got + 1;
        end
endmodule

module xpm_fifo_sync #(
    parameter DOUT_RESET_VALUE = "", ECC_MODE = "", FIFO_MEMORY_TYPE = "", READ_MODE = "",
    parameter int FIFO_WRITE_DEPTH = 16, READ_DATA_WIDTH = 16, WRITE_DATA_WIDTH = 16
) (
    input  wire wr_en, rd_en, sleep, injectsbiterr, injectdbiterr, wr_clk, rst,
    input  wire [WRITE_DATA_WIDTH-1:0] din,
    output wire [READ_DATA_WIDTH-1:0] dout,
    output wire wr_ack, data_valid, empty, full, almost_empty, almost_full, overflow, underflow, prog_empty,
    output wire prog_full, sbiterr, dbiterr, rd_rst_busy, wr_rst_busy, wr_data_count, rd_data_count
);
    fifo_model #(.WIDTH(WRITE_DATA_WIDTH), .DEPTH(FIFO_WRITE_DEPTH)) fifo (
        .clk(wr_clk), .rst(rst), .wr_en(wr_en), .din(din), .rd_en(rd_en), .dout(dout), .empty(empty), .full(full)
    );
endmodule

module xpm_fifo_async #(
    parameter DOUT_RESET_VALUE = "", ECC_MODE = "", FIFO_MEMORY_TYPE = "", READ_MODE = "",
    parameter int FIFO_READ_LATENCY = 0, FIFO_WRITE_DEPTH = 16, READ_DATA_WIDTH = 16, WRITE_DATA_WIDTH = 16,
    parameter int CDC_SYNC_STAGES = 2
) (
    input  wire wr_en, rd_en, sleep, injectsbiterr, injectdbiterr, wr_clk, rd_clk, rst,
    input  wire [WRITE_DATA_WIDTH-1:0] din,
    output wire [READ_DATA_WIDTH-1:0] dout,
    output wire wr_ack, data_valid, empty, full, almost_empty, almost_full, overflow, underflow, prog_empty,
    output wire prog_full, sbiterr, dbiterr, rd_rst_busy, wr_rst_busy, wr_data_count, rd_data_count
);
    fifo_model #(.WIDTH(WRITE_DATA_WIDTH), .DEPTH(FIFO_WRITE_DEPTH)) fifo (
        .clk(wr_clk), .rst(rst), .wr_en(wr_en), .din(din), .rd_en(rd_en), .dout(dout), .empty(empty), .full(full)
    );
endmodule

module xpm_fifo_axis #(
    parameter CLOCKING_MODE = "", FIFO_MEMORY_TYPE = "", PACKET_FIFO = "", ECC_MODE = "",
    parameter int FIFO_DEPTH = 16, TDATA_WIDTH = 512, TID_WIDTH = 1, TDEST_WIDTH = 1, TUSER_WIDTH = 1,
    parameter int RELATED_CLOCKS = 0, CDC_SYNC_STAGES = 2
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
    output wire almost_empty_axis, prog_empty_axis, almost_full_axis, prog_full_axis, wr_data_count_axis,
    output wire rd_data_count_axis, sbiterr_axis, dbiterr_axis
);
    localparam WIDTH = TDATA_WIDTH + TDATA_WIDTH / 8 + TID_WIDTH + TDEST_WIDTH + TUSER_WIDTH + 1;
    wire empty, full;
    assign m_axis_tvalid = !empty;
    assign s_axis_tready = !full;
    fifo_model #(.WIDTH(WIDTH), .DEPTH(FIFO_DEPTH)) fifo (
        .clk(s_aclk), .rst(!s_aresetn), .wr_en(s_axis_tvalid), .rd_en(m_axis_tready), .empty(empty), .full(full),
        .din({s_axis_tlast, s_axis_tuser, s_axis_tdest, s_axis_tid, s_axis_tkeep, s_axis_tdata}),
        .dout({m_axis_tlast, m_axis_tuser, m_axis_tdest, m_axis_tid, m_axis_tkeep, m_axis_tdata})
    );
endmodule

// A read takes two cycles; the second register moves with `regceb`.
module xpm_memory_sdpram #(
    parameter ECC_MODE = "", CLOCKING_MODE = "", MEMORY_INIT_FILE = "", MEMORY_INIT_PARAM = "",
    parameter MEMORY_OPTIMIZATION = "", MEMORY_PRIMITIVE = "", READ_RESET_VALUE_B = "", RST_MODE_A = "",
    parameter RST_MODE_B = "", WAKEUP_TIME = "", WRITE_MODE_B = "",
    parameter int ADDR_WIDTH_A = 6, ADDR_WIDTH_B = 6, AUTO_SLEEP_TIME = 0, BYTE_WRITE_WIDTH_A = 32,
    parameter int MEMORY_SIZE = 2048, MESSAGE_CONTROL = 0, READ_DATA_WIDTH_B = 32, READ_LATENCY_B = 2,
    parameter int USE_EMBEDDED_CONSTRAINT = 0, USE_MEM_INIT = 0, WRITE_DATA_WIDTH_A = 32
) (
    input  wire ena, wea, enb, regceb, injectdbiterra, injectsbiterra, sleep, clka, clkb, rstb,
    input  wire [ADDR_WIDTH_A-1:0] addra,
    input  wire [ADDR_WIDTH_B-1:0] addrb,
    input  wire [WRITE_DATA_WIDTH_A-1:0] dina,
    output reg  [READ_DATA_WIDTH_B-1:0] doutb,
    output wire dbiterrb, sbiterrb
);
    reg [WRITE_DATA_WIDTH_A-1:0] words [0:(1<<ADDR_WIDTH_A)-1];
    reg [READ_DATA_WIDTH_B-1:0]  read;
    always @(posedge clka) begin
        if (ena && wea) words[addra] <= dina;
        if (enb) read <= words[addrb];
        if (regceb) doutb <= read;
    end
endmodule
`default_nettype wire
