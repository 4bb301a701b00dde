// A binary32 divided by a power of two: what would be subnormal becomes zero of its sign, and so does what is
// subnormal; infinities and NaN stay. Divided by 1 it stays as it is.
`default_nettype none
module olaf_scale (
    input  wire [31:0] value,
    input  wire [3:0]  shift,
    output wire [31:0] scaled
);
    wire [7:0] exponent = value[30:23];
    wire       stays = shift == 4'd0 || &exponent;
    wire       vanishes = exponent <= {4'd0, shift};
    assign scaled = stays ? value : vanishes ? {value[31], 31'd0} : {value[31], exponent - {4'd0, shift}, value[22:0]};
endmodule
`default_nettype wire
