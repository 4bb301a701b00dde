// The bounds of comparable rewards (OLAF §3): a reward above `waiting + threshold` replaces the waiting
// update, one below `waiting - threshold` is dropped, both in exact arithmetic.
//
// The upper bound is rounded towards minus infinity, the lower towards plus infinity: no binary32 lies
// between a rounded bound and the exact one, so that comparing with the rounded bound is exact.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_reward_bounds #(
    parameter SLOT_BITS = 3
) (
    input  wire                 clk,

    input  wire                 launch,     // the bounds of this reward are computed, in four cycles
    input  wire [31:0]          reward,
    input  wire [31:0]          threshold,
    input  wire                 keep,       // they become those of the update in this slot
    input  wire [SLOT_BITS-1:0] keep_slot,

    input  wire [SLOT_BITS-1:0] slot,       // of a waiting update, and the reward that it is compared with
    input  wire [`OLAF_KEPT_KEY_WIDTH-1:0] key,
    output wire                 above,
    output wire                 below
);
    localparam KEY_BITS = `OLAF_KEPT_KEY_WIDTH;

    reg [KEY_BITS-1:0] uppers [0:(1<<SLOT_BITS)-1];
    reg [KEY_BITS-1:0] lowers [0:(1<<SLOT_BITS)-1];
    reg [2:0]          steps;
    wire [31:0]        upper, lower;
    wire [KEY_BITS-1:0] upper_key, lower_key;

    always @(posedge clk) steps <= {steps[1:0], launch};
    olaf_fp32_add #(.LATENCY(4), .TOWARDS(-1)) add_upper (
        .clk(clk), .step({steps, launch}), .copy(1'b0), .a(reward), .b(threshold), .sum(upper)
    );
    olaf_fp32_add #(.LATENCY(4), .TOWARDS(1)) add_lower (
        .clk(clk), .step({steps, launch}), .copy(1'b0), .a(reward), .b(threshold ^ 32'h80000000), .sum(lower)
    );
    olaf_reward_key key_of_upper (.value(upper), .key(upper_key));
    olaf_reward_key key_of_lower (.value(lower), .key(lower_key));

    always @(posedge clk)
        if (keep) begin
            uppers[keep_slot] <= upper_key;
            lowers[keep_slot] <= lower_key;
        end

    assign above = key > uppers[slot];
    assign below = key < lowers[slot];
endmodule
`default_nettype wire
