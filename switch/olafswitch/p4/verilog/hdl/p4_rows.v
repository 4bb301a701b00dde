// Memory with one write and one read a cycle, which takes two cycles; zero at start, and kept by a reset. UltraRAM
// from 4096 words on, block memory from 128, else look-up tables.
`default_nettype none
module p4_rows #(
    parameter WIDTH = 32,
    parameter BITS = 8,               // log2 of its words
    parameter WORDS = 1 << BITS
) (
    input  wire             clk,
    input  wire             write,
    input  wire [BITS-1:0]  write_at,
    input  wire [WIDTH-1:0] data,
    input  wire [BITS-1:0]  read_at,
    output reg  [WIDTH-1:0] found
);
    reg [WIDTH-1:0] read;
    integer         i;
    always @(posedge clk) found <= read;
    generate
        if (WORDS >= 4096) begin : ultra
            (* ram_style = "ultra" *) reg [WIDTH-1:0] store [0:WORDS-1];
            initial for (i = 0; i < WORDS; i = i + 1) store[i] = {WIDTH{1'b0}};
            always @(posedge clk) begin
                if (write) store[write_at] <= data;
                read <= store[read_at];
            end
        end else if (WORDS >= 128) begin : block
            (* ram_style = "block" *) reg [WIDTH-1:0] store [0:WORDS-1];
            initial for (i = 0; i < WORDS; i = i + 1) store[i] = {WIDTH{1'b0}};
            always @(posedge clk) begin
                if (write) store[write_at] <= data;
                read <= store[read_at];
            end
        end else begin : small_
            reg [WIDTH-1:0] store [0:WORDS-1];
            initial for (i = 0; i < WORDS; i = i + 1) store[i] = {WIDTH{1'b0}};
            always @(posedge clk) begin
                if (write) store[write_at] <= data;
                read <= store[read_at];
            end
        end
    endgenerate
endmodule
`default_nettype wire
