// A FIFO of two clocks, as a plain model of AMD's: first word falls through, `dout` is the oldest word whenever it
// is not empty. Each side learns of the other's progress some cycles later.
`default_nettype none
module fifo_model #(
    parameter int WIDTH = 16,   // bits of a word
    parameter int DEPTH = 16,   // words
    parameter int STAGES = 0    // cycles until one side sees the other's progress; 0 with one clock
) (
    input  wire             wr_clk,
    input  wire             rst,     // in wr_clk
    input  wire             wr_en,
    input  wire [WIDTH-1:0] din,
    output wire             full,
    output wire [31:0]      held,    // words, as the writing side sees it
    input  wire             rd_clk,
    input  wire             rd_en,
    output wire [WIDTH-1:0] dout,
    output wire             empty
);
    reg [WIDTH-1:0] words [0:DEPTH-1];
    reg [31:0]      put, got;
    wire [31:0]     put_seen, got_seen;
    wire            rd_rst;

    generate
        if (STAGES == 0) begin : one_clock
            assign {put_seen, got_seen, rd_rst} = {put, got, rst};
        end else begin : two_clocks
            reg [32*STAGES-1:0] puts, gots;
            reg [STAGES-1:0]    resets;
            always @(posedge rd_clk) begin
                puts <= (32*STAGES)'({puts, put});
                resets <= STAGES'({resets, rst});
            end
            always @(posedge wr_clk) gots <= (32*STAGES)'({gots, got});
            assign put_seen = puts[32*(STAGES-1) +: 32];
            assign got_seen = gots[32*(STAGES-1) +: 32];
            assign rd_rst = resets[STAGES-1];
        end
    endgenerate

    assign held = put - got_seen;
    assign full = rst || held >= DEPTH;
    assign empty = rd_rst || put_seen == got;
    assign dout = words[got % DEPTH];
    always @(posedge wr_clk)
        if (rst) put <= 0;
        else if (wr_en && !full) begin
            words[put % DEPTH] <= din;
            put <= put + 1;
        end
    always @(posedge rd_clk)
        if (rd_rst) got <= 0;
        else if (rd_en && !empty) got <= got + 1;
endmodule
`default_nettype wire
