// What is kept of each waiting update's headers, how those of the update under way compare with them, and what the
// headers of both become when they are merged (OLAF §3).
//
// They are compared as they are fetched: the decision has no time for it. What is kept of an update follows the cycle
// in which it is settled by one, the bounds of its reward by two.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_merged_headers #(
    parameter SLOT_BITS = 3
) (
    input  wire                    clk,
    input  wire                    rst,

    input  wire                    fetch,          // an update's headers, and those kept of this slot
    input  wire [SLOT_BITS-1:0]    fetch_slot,
    input  wire [`OLAF_BEAT_BITS-1:0] fetch_data,
    input  wire [`OLAF_TUSER_SIZE_WIDTH-1:0] fetch_size,
    input  wire [`OLAF_SETTINGS_REWARD_THRESHOLD_WIDTH-1:0] reward_threshold,

    // From the next cycle on.
    input  wire [SLOT_BITS-1:0]    decide_slot,
    input  wire [`OLAF_BEAT_BITS-1:0] decide_data,
    output reg                     same_size,
    output wire                    reward_above,
    output wire                    reward_below,

    // It is decided whether they are merged.
    input  wire                    decide,
    input  wire                    merging,
    input  wire [`OLAF_OLAF_COUNT_WIDTH-1:0] threshold,
    output wire                    enough,         // worker updates for a result, together
    output reg                     old_headers,    // the merged update keeps the waiting one's
    output reg                     saturated,      // its count is at its limit
    output reg  [`OLAF_OLAF_COUNT_WIDTH-1:0]  count,
    output reg  [`OLAF_OLAF_REWARD_WIDTH-1:0] reward,
    output reg  [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] weights_version,
    output reg                     summed,         // `weights_version` is the sum of all versions, not the oldest

    input  wire                    keep,           // it is settled: these are kept
    input  wire [SLOT_BITS-1:0]    keep_slot,
    input  wire [`OLAF_KEPT_SIZE_WIDTH-1:0] keep_size
);
    reg [`OLAF_KEPT_BITS-1:0] kept [0:(1<<SLOT_BITS)-1];

    // Fetched.
    wire [`OLAF_KEPT_BITS-1:0] f_kept = kept[fetch_slot];
    wire [`OLAF_KEPT_KEY_WIDTH-1:0] f_key;
    olaf_reward_key incoming_key (.value(`OLAF_OLAF_REWARD_VALUE(fetch_data)), .key(f_key));
    wire [`OLAF_OLAF_GEN_TIME_WIDTH-1:0] time_after_kept = `OLAF_OLAF_GEN_TIME_VALUE(fetch_data) - f_kept[`OLAF_KEPT_GEN_TIME];
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] versions_after_kept = `OLAF_OLAF_WEIGHTS_VERSION_VALUE(fetch_data) - f_kept[`OLAF_KEPT_WEIGHTS_VERSION];

    reg [`OLAF_KEPT_BITS-1:0]      d_kept;
    reg [`OLAF_KEPT_KEY_WIDTH-1:0] d_key;
    reg                            higher, newer, older_weights_version;
    always @(posedge clk)
        if (fetch) begin
            d_kept <= f_kept;
            d_key <= f_key;
            same_size <= fetch_size == f_kept[`OLAF_KEPT_SIZE];
            higher <= f_key > f_kept[`OLAF_KEPT_KEY];
            newer <= !time_after_kept[`OLAF_OLAF_GEN_TIME_WIDTH-1];
            older_weights_version <= versions_after_kept[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1];
        end

    reg keep_pending, keep_bounds;
    olaf_reward_bounds #(.SLOT_BITS(SLOT_BITS)) reward_bounds (
        .clk(clk), .launch(fetch), .reward(`OLAF_OLAF_REWARD_VALUE(fetch_data)), .threshold(reward_threshold),
        .slot(decide_slot), .key(d_key), .above(reward_above), .below(reward_below),
        .keep(keep_bounds), .keep_slot(keep_slot)
    );

    // Decided. Two sums of versions are added; of two oldest versions the older counts. Where only one is a sum
    // nothing is known of the versions in it.
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0]    d_count = `OLAF_OLAF_COUNT_VALUE(decide_data);
    wire [`OLAF_OLAF_REWARD_WIDTH-1:0]   d_reward = `OLAF_OLAF_REWARD_VALUE(decide_data);
    wire [`OLAF_OLAF_GEN_TIME_WIDTH-1:0] d_time = `OLAF_OLAF_GEN_TIME_VALUE(decide_data);
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0]   d_weights_version = `OLAF_OLAF_WEIGHTS_VERSION_VALUE(decide_data);
    wire        d_summed = |(decide_data[`OLAF_OLAF_FLAGS] & `OLAF_FLAG_SUMMED);
    wire        old_summed = d_kept[`OLAF_KEPT_SUMMED];
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] versions = d_weights_version + d_kept[`OLAF_KEPT_WEIGHTS_VERSION];
    wire        keeps_weights_version = d_summed || (!old_summed && !older_weights_version);
    wire [`OLAF_OLAF_COUNT_WIDTH:0] counts = {1'b0, d_count} + {1'b0, d_kept[`OLAF_KEPT_COUNT]};
    wire        too_many = counts[`OLAF_OLAF_COUNT_WIDTH];
    assign enough = merging ? too_many || counts[`OLAF_OLAF_COUNT_WIDTH-1:0] >= threshold : d_count >= threshold;

    reg [`OLAF_KEPT_KEY_WIDTH-1:0]      key;
    reg [`OLAF_KEPT_GEN_TIME_WIDTH-1:0] gen_time;
    reg                                 own_reward;   // the update's reward is the one that counts from now on
    always @(posedge clk)
        if (decide) begin
            old_headers <= merging && !newer;
            saturated <= merging && too_many;
            count <= !merging ? d_count : too_many ? {`OLAF_OLAF_COUNT_WIDTH{1'b1}} : counts[`OLAF_OLAF_COUNT_WIDTH-1:0];
            reward <= merging && !higher ? d_kept[`OLAF_KEPT_REWARD] : d_reward;
            key <= merging && !higher ? d_kept[`OLAF_KEPT_KEY] : d_key;
            gen_time <= merging && !newer ? d_kept[`OLAF_KEPT_GEN_TIME] : d_time;
            weights_version <= !merging ? d_weights_version : d_summed && old_summed ? versions : keeps_weights_version ? d_kept[`OLAF_KEPT_WEIGHTS_VERSION] : d_weights_version;
            summed <= d_summed && (!merging || old_summed);
            own_reward <= !merging || higher;
        end

    // Settled.
    wire [`OLAF_KEPT_BITS-1:0] now_kept;
    assign now_kept[`OLAF_KEPT_COUNT] = count;
    assign now_kept[`OLAF_KEPT_REWARD] = reward;
    assign now_kept[`OLAF_KEPT_KEY] = key;
    assign now_kept[`OLAF_KEPT_GEN_TIME] = gen_time;
    assign now_kept[`OLAF_KEPT_WEIGHTS_VERSION] = weights_version;
    assign now_kept[`OLAF_KEPT_SUMMED] = summed;
    assign now_kept[`OLAF_KEPT_SIZE] = keep_size;
    always @(posedge clk)
        if (rst) begin
            keep_pending <= 1'b0;
            keep_bounds <= 1'b0;
        end else begin
            keep_pending <= keep;
            keep_bounds <= keep_pending && own_reward;
        end
    always @(posedge clk)
        if (keep_pending) kept[keep_slot] <= now_kept;

    wire unused = &{1'b0, fetch_data, decide_data, time_after_kept, versions_after_kept, d_kept[`OLAF_KEPT_SIZE]};
endmodule
`default_nettype wire
