// A binary32 as an unsigned number in the same order: NaN below all, -0 equal to +0.
`default_nettype none
module olaf_reward_key (
    input  wire [31:0] value,
    output wire [31:0] key
);
    wire not_a_number = &value[30:23] && |value[22:0];
    wire zero = ~|value[30:0];
    assign key = not_a_number ? 32'd0
               : zero         ? 32'h80000000
               : value[31]    ? ~value
               :                {1'b1, value[30:0]};
endmodule
`default_nettype wire
