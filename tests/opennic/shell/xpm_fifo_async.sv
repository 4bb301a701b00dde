// Model of AMD's FIFO of two clocks, with the ports and parameters that the shell uses.
`default_nettype none
module xpm_fifo_async #(
    parameter DOUT_RESET_VALUE = "", ECC_MODE = "", FIFO_MEMORY_TYPE = "", READ_MODE = "",  // not modelled
    parameter int FIFO_READ_LATENCY = 0,   // not modelled: the shell's FIFOs all fall through
    parameter int FIFO_WRITE_DEPTH = 16,   // words
    parameter int READ_DATA_WIDTH = 16,    // bits of a word, as the next one
    parameter int WRITE_DATA_WIDTH = 16,
    parameter int CDC_SYNC_STAGES = 2      // cycles from one clock to the other
) (
    input  wire wr_en, rd_en, sleep, injectsbiterr, injectdbiterr, wr_clk, rd_clk, rst,
    input  wire [WRITE_DATA_WIDTH-1:0] din,
    output wire [READ_DATA_WIDTH-1:0] dout,
    output wire wr_ack, data_valid, empty, full, almost_empty, almost_full, overflow, underflow, prog_empty,
    output wire prog_full, sbiterr, dbiterr, rd_rst_busy, wr_rst_busy, wr_data_count, rd_data_count
);
    wire [31:0] held;
    fifo_model #(.WIDTH(WRITE_DATA_WIDTH), .DEPTH(FIFO_WRITE_DEPTH), .STAGES(CDC_SYNC_STAGES)) fifo (
        .wr_clk(wr_clk), .rst(rst), .wr_en(wr_en), .din(din), .full(full), .held(held),
        .rd_clk(rd_clk), .rd_en(rd_en), .dout(dout), .empty(empty)
    );
endmodule
`default_nettype wire
