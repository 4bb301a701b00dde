// Model of AMD's synchronizer of one bit.
`default_nettype none
module xpm_cdc_single #(
    parameter int DEST_SYNC_FF = 4,   // registers in dest_clk
    parameter int SRC_INPUT_REG = 1   // not modelled: a register in src_clk
) (
    input  wire src_clk, src_in, dest_clk,
    output wire dest_out
);
    reg [DEST_SYNC_FF-1:0] stages;
    always @(posedge dest_clk) stages <= DEST_SYNC_FF'({stages, src_in});
    assign dest_out = stages[DEST_SYNC_FF-1];
endmodule
`default_nettype wire
