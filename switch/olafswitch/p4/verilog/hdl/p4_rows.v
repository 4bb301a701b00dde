// Memory with one write and one read a cycle, which takes two cycles; zero at start, and kept by a reset. UltraRAM
// from 4096 words on, block memory from 128.
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
    localparam STYLE = WORDS >= 4096 ? "ultra" : WORDS >= 128 ? "block" : "auto";
    wire unused = &{1'b0, STYLE};
    (* ram_style = STYLE *) reg [WIDTH-1:0] store [0:WORDS-1];
    reg [WIDTH-1:0] read;
`ifndef SYNTHESIS // a device's memory is zero without it, and Yosys takes minutes for the loop
    integer i;
    initial for (i = 0; i < WORDS; i = i + 1) store[i] = {WIDTH{1'b0}};
`endif
    always @(posedge clk) begin
        if (write) store[write_at] <= data;
        read <= store[read_at];
        found <= read;
    end
endmodule
`default_nettype wire
