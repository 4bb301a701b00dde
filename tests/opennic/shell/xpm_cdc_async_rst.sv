// Model of AMD's reset synchronizer: asserts at once, deasserts with dest_clk.
`default_nettype none
module xpm_cdc_async_rst #(
    parameter int DEST_SYNC_FF = 4,     // registers in dest_clk
    parameter int RST_ACTIVE_HIGH = 0   // the level that resets
) (
    input  wire src_arst, dest_clk,
    output wire dest_arst
);
    localparam ACTIVE = RST_ACTIVE_HIGH != 0;
    wire                   asserted = src_arst == ACTIVE;
    reg [DEST_SYNC_FF-1:0] stages;
    always @(posedge dest_clk or posedge asserted)
        if (asserted) stages <= {DEST_SYNC_FF{ACTIVE}};
        else stages <= DEST_SYNC_FF'({stages, !ACTIVE});
    assign dest_arst = stages[DEST_SYNC_FF-1];
endmodule
`default_nettype wire
