// The settings of every index: what becomes of its updates (lab/olaflab/sources/internals.py).
`include "olaf_meta.vh"
`default_nettype none
module olaf_settings #(
    parameter INDEX_BITS = 4
) (
    input  wire                          clk,
    input  wire                          clearing,        // one index is set back a cycle
    input  wire [INDEX_BITS-1:0]         clearing_index,
    input  wire                          set,
    input  wire [`OLAF_SETTINGS_BITS-1:0] new_settings,
    input  wire [INDEX_BITS-1:0]         command_index,   // that `set` is for
    output wire [`OLAF_SETTINGS_BITS-1:0] command_settings,
    input  wire [INDEX_BITS-1:0]         index,           // of the arriving update
    output wire [`OLAF_SETTINGS_BITS-1:0] settings
);
    reg [`OLAF_SETTINGS_BITS-1:0] rows [0:(1<<INDEX_BITS)-1];

    wire [`OLAF_SETTINGS_BITS-1:0] after_reset;
    assign after_reset[`OLAF_SETTINGS_MODE] = `OLAF_MODE_OLAF;
    assign after_reset[`OLAF_SETTINGS_HALTED] = 1'b0;
    assign after_reset[`OLAF_SETTINGS_THRESHOLD] = 1;
    assign after_reset[`OLAF_SETTINGS_REWARD_ENABLE] = 1'b0;
    assign after_reset[`OLAF_SETTINGS_REWARD_THRESHOLD] = 32'd0;
    assign after_reset[`OLAF_SETTINGS_STALE_ENABLE] = 1'b0;
    assign after_reset[`OLAF_SETTINGS_STALE_BOUND] = {`OLAF_SETTINGS_STALE_BOUND_WIDTH{1'b0}};

    assign settings = rows[index];
    assign command_settings = rows[command_index];

    always @(posedge clk)
        if (clearing) rows[clearing_index] <= after_reset;
        else if (set) rows[command_index] <= new_settings;
endmodule
`default_nettype wire
