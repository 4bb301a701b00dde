// The enqueue decision: three steps from an update's first beat to its disposition, and what is settled when
// the update has arrived to its end.
//
//   look up   (beat in ingress)  where the cluster's newest update is, and whose
//   fetch     (beat in `f_`)     what that update's headers say
//   decide    (beat in `d_`)     Algorithm 1; the disposition is in force from the next cycle on
//
// An update whose disposition is in force but which has not arrived to its end is the *arriving* one. It is
// written to the spare buffer, next to the waiting update it will merge with or replace, so that a bad
// frame can be undone by forgetting it. It may begin to leave before its end (cut-through).
`default_nettype none
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
module olaf_enqueue #(
    parameter SLOTS = 8,
    parameter CLUSTER_BITS = 4,
    parameter BUFFER_BITS = 4,
    parameter PLACE_BITS = 3
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    fifo,
    input  wire                    reward_enable,
    input  wire [31:0]             reward_threshold,

    // Beats from ingress.
    input  wire                    in_valid,
    output wire                    in_ready,
    output wire                    idle,
    input  wire                    in_first,
    input  wire                    in_missing,
    input  wire [2:0]              in_fault,
    input  wire [511:0]            in_data,
    input  wire [`OLAF_TUSER_BITS-1:0] in_user,
    input  wire                    ended,
    input  wire [1:0]              ending,

    // The cluster table, asked for ingress' beat.
    output wire [CLUSTER_BITS-1:0] cluster,
    input  wire                    present,
    input  wire [PLACE_BITS-1:0]   place,
    input  wire                    replaceable,
    input  wire [`OLAF_TUSER_WORKER_WIDTH-1:0] replaceable_by,

    // The out list and the dequeue.
    input  wire [PLACE_BITS:0]     count,
    input  wire [PLACE_BITS-1:0]   tail,
    input  wire                    busy,          // the head is leaving
    input  wire [PLACE_BITS-1:0]   head,
    input  wire                    start,         // the update at `start_place` begins to leave
    input  wire [PLACE_BITS-1:0]   start_place,
    output wire [PLACE_BITS-1:0]   old_place,
    input  wire [BUFFER_BITS-1:0] old_buffer,
    input  wire [BUFFER_BITS-1:0] free_buffer,

    // Beats for the merge pipeline; with them, what is to be done.
    output wire                    out_valid,
    input  wire                    out_ready,
    output wire                    out_first,
    output wire                    out_missing,
    output wire [511:0]            out_data,

    // The arriving update.
    output reg                     arriving,
    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition,
    output reg  [PLACE_BITS-1:0]   at_place,
    output reg  [BUFFER_BITS-1:0] buffer,
    output reg  [BUFFER_BITS-1:0] merge_buffer, // what it merges with
    output wire [BUFFER_BITS-1:0] next_buffer,  // of the next update to arrive
    output reg                     old_headers,   // the merged update keeps the waiting one's headers
    output reg  [15:0]             merged_count,
    output reg  [31:0]             merged_reward,
    output reg  [`OLAF_META_BITS-1:0]  meta,
    output reg                     leaving,       // it has begun to leave

    // Settled, in this cycle.
    output wire                    commit,
    output wire                    committed,     // as decided: it was good, or repaired
    output wire                    known_sender,  // of no fault of its own
    output reg  [2:0]              fault,
    output reg                     tracked,
    output reg                     after_locked,
    output reg                     saturated,
    output reg  [CLUSTER_BITS-1:0] commit_cluster,
    output wire                    commit_replaceable,
    output wire [`OLAF_TUSER_WORKER_WIDTH-1:0] commit_worker
);
    localparam [PLACE_BITS:0] FULL = SLOTS[PLACE_BITS:0];

    // Beats on their way, and the first beat's tuser and lookups with them.
    reg         f_valid, d_valid;
    reg         f_first, d_first, f_missing, d_missing;
    reg [511:0] f_data, d_data;
    reg [`OLAF_TUSER_OCCUPANCY_LOW-1:0] f_user, d_user;
    reg [2:0]   f_fault, d_fault;
    reg         f_present, d_present, f_locked, d_locked, f_replaceable, d_replaceable;
    reg [`OLAF_TUSER_WORKER_WIDTH-1:0] f_replaceable_by;
    reg         d_same_worker;
    reg [PLACE_BITS-1:0] f_place, d_place;
    reg [31:0]  d_key;
    reg [BUFFER_BITS-1:0] spare;
    reg         aggregated;

    wire go = out_ready;
    assign in_ready = go;
    assign idle = !f_valid && !d_valid && !arriving;
    assign out_valid = d_valid;
    assign out_first = d_first;
    assign out_missing = d_missing;
    assign out_data = d_data;

    // An update that is found unlocked may begin to leave while the decision is under way.
    wire in_locks = (busy && place == head) || (start && place == start_place);
    wire f_locks = (busy && f_place == head) || (start && f_place == start_place);
    wire d_locks = (busy && d_place == head) || (start && d_place == start_place);

    // Look up.
    assign cluster = in_user[`OLAF_TUSER_CLUSTER_LOW +: CLUSTER_BITS];

    // What is kept of each waiting update's headers, by its place in the out list.
    reg [`OLAF_KEPT_BITS-1:0] kept [0:(1<<PLACE_BITS)-1];
    reg [`OLAF_KEPT_BITS-1:0] d_kept;
    wire [`OLAF_KEPT_COUNT_WIDTH-1:0]    old_count = d_kept[`OLAF_KEPT_COUNT];
    wire [`OLAF_KEPT_LENGTH_WIDTH-1:0]   old_length = d_kept[`OLAF_KEPT_LENGTH];
    wire [`OLAF_KEPT_REWARD_WIDTH-1:0]   old_reward = d_kept[`OLAF_KEPT_REWARD];
    wire [`OLAF_KEPT_KEY_WIDTH-1:0]      old_key = d_kept[`OLAF_KEPT_KEY];
    wire [`OLAF_KEPT_GEN_TIME_WIDTH-1:0] old_time = d_kept[`OLAF_KEPT_GEN_TIME];

    wire [31:0] f_key;
    olaf_reward_key incoming_key (.value(`OLAF_OLAF_REWARD_VALUE(f_data)), .key(f_key));

    always @(posedge clk)
        if (rst) begin
            f_valid <= 1'b0;
            d_valid <= 1'b0;
        end else if (go) begin
            f_valid <= in_valid;
            d_valid <= f_valid;
        end

    always @(posedge clk) begin
        f_locked <= f_locked || f_locks;
        d_locked <= d_locked || d_locks;
        if (go && in_valid) begin
            f_first <= in_first;
            f_missing <= in_missing;
            f_data <= in_data;
            if (in_first) begin
                f_user <= in_user[`OLAF_TUSER_OCCUPANCY_LOW-1:0];
                f_fault <= in_fault;
                f_present <= present;
                f_place <= place;
                f_locked <= in_locks;
                f_replaceable <= replaceable;
                f_replaceable_by <= replaceable_by;
            end
        end
        if (go && f_valid) begin
            d_first <= f_first;
            d_missing <= f_missing;
            d_data <= f_data;
            if (f_first) begin
                d_user <= f_user;
                d_fault <= f_fault;
                d_present <= f_present;
                d_place <= f_place;
                d_locked <= f_locked || f_locks;
                d_replaceable <= f_replaceable;
                d_same_worker <= f_replaceable_by == f_user[`OLAF_TUSER_WORKER];
                d_key <= f_key;
                d_kept <= kept[f_place];
            end
        end
    end

    // Decide.
    wire [15:0] d_count = `OLAF_OLAF_COUNT_VALUE(d_data);
    wire [31:0] d_reward = `OLAF_OLAF_REWARD_VALUE(d_data);
    wire [63:0] d_time = `OLAF_OLAF_GEN_TIME_VALUE(d_data);
    wire [15:0] d_length = `OLAF_OLAF_LENGTH_VALUE(d_data);
    wire        d_aggregated = |(d_data[`OLAF_OLAF_FLAGS] & `OLAF_FLAG_AGGREGATED);
    wire        locked_now = d_locked || d_locks;
    wire        deciding /* verilator public_flat_rd */;
    assign deciding = d_valid && d_first && go;
    assign old_place = d_place;
    assign next_buffer = spare;

    wire [3:0] decision;
    olaf_decide algorithm_1 (
        .fault(d_fault),
        .fifo(fifo),
        .full(count == FULL),
        .waiting(d_present && !locked_now),
        .replaceable(d_replaceable),
        .same_worker(d_same_worker),
        .aggregated(d_aggregated),
        .same_length(d_length == old_length),
        .reward_enable(reward_enable),
        .reward_above(d_key > d_kept[`OLAF_KEPT_ABOVE]),
        .reward_below(d_key < d_kept[`OLAF_KEPT_BELOW]),
        .disposition(decision)
    );

    wire        merging = decision == `OLAF_MERGE;
    wire        higher = d_key > old_key;
    wire        newer = d_time >= old_time;
    wire [16:0] counts = {1'b0, d_count} + {1'b0, old_count};

    // The bounds outside which a later update's reward is not comparable, ready one cycle after the disposition.
    wire [31:0] bound_above, bound_below, key_above, key_below;
    reg  [3:0]  bound_step;
    wire        launch = in_valid && in_first && go;
    wire [31:0] in_reward = `OLAF_OLAF_REWARD_VALUE(in_data);
    always @(posedge clk) bound_step <= {bound_step[2:0], launch};
    olaf_fp32_add #(.LATENCY(4)) add_above (
        .clk(clk), .step({bound_step[2:0], launch}), .copy(1'b0),
        .a(in_reward), .b(reward_threshold), .sum(bound_above)
    );
    olaf_fp32_add #(.LATENCY(4)) add_below (
        .clk(clk), .step({bound_step[2:0], launch}), .copy(1'b0),
        .a(in_reward), .b(reward_threshold ^ 32'h80000000), .sum(bound_below)
    );
    olaf_reward_key above_key (.value(bound_above), .key(key_above));
    olaf_reward_key below_key (.value(bound_below), .key(key_below));

    // In force.
    reg [31:0] merged_key, waiting_above, waiting_below;
    reg [63:0] merged_time;
    reg [15:0] length;
    reg        keep_bounds;     // the waiting update's reward was the higher
    reg        keep_pending;    // what is kept follows the commit by a cycle
    wire       drops = disposition[`OLAF_IS_DROP];

    assign commit = ended;
    assign committed = ended && ending == `OLAF_END_GOOD && !drops;
    assign known_sender = ended && ending == `OLAF_END_GOOD && disposition != `OLAF_DROP_FAULT;
    assign commit_replaceable = disposition != `OLAF_MERGE && !aggregated;
    assign commit_worker = meta[`OLAF_META_WORKER];

    always @(posedge clk)
        if (rst) begin
            arriving <= 1'b0;
            keep_pending <= 1'b0;
            spare <= SLOTS[BUFFER_BITS-1:0];
        end else begin
            keep_pending <= committed;
            if (deciding) arriving <= 1'b1;
            else if (commit) arriving <= 1'b0;
            if (committed) spare <= disposition == `OLAF_APPEND ? free_buffer : merge_buffer;
        end

    wire [`OLAF_KEPT_BITS-1:0] now_kept;
    assign now_kept[`OLAF_KEPT_COUNT] = merged_count;
    assign now_kept[`OLAF_KEPT_REWARD] = merged_reward;
    assign now_kept[`OLAF_KEPT_KEY] = merged_key;
    assign now_kept[`OLAF_KEPT_ABOVE] = keep_bounds ? waiting_above : key_above;
    assign now_kept[`OLAF_KEPT_BELOW] = keep_bounds ? waiting_below : key_below;
    assign now_kept[`OLAF_KEPT_GEN_TIME] = merged_time;
    assign now_kept[`OLAF_KEPT_LENGTH] = length;

    always @(posedge clk) begin
        if (start && arriving && !drops && start_place == at_place) leaving <= 1'b1;
        if (deciding) begin
            leaving <= 1'b0;
            disposition <= decision;
            fault <= d_fault;
            tracked <= !fifo;
            after_locked <= !fifo && d_present && d_locks;
            commit_cluster <= d_user[`OLAF_TUSER_CLUSTER_LOW +: CLUSTER_BITS];
            aggregated <= d_aggregated;
            at_place <= decision == `OLAF_APPEND ? tail : d_place;
            buffer <= spare;
            merge_buffer <= old_buffer;
            old_headers <= merging && !newer;
            saturated <= merging && counts[16];
            merged_count <= !merging ? d_count : counts[16] ? 16'hffff : counts[15:0];
            merged_reward <= merging && !higher ? old_reward : d_reward;
            merged_key <= merging && !higher ? old_key : d_key;
            merged_time <= merging && !newer ? old_time : d_time;
            keep_bounds <= merging && !higher;
            waiting_above <= d_kept[`OLAF_KEPT_ABOVE];
            waiting_below <= d_kept[`OLAF_KEPT_BELOW];
            length <= d_length;
            meta[`OLAF_META_SIZE] <= d_user[`OLAF_TUSER_SIZE];
            meta[`OLAF_META_SRC] <= d_user[`OLAF_TUSER_SRC];
            meta[`OLAF_META_DST] <= d_user[`OLAF_TUSER_DST];
            meta[`OLAF_META_CLUSTER] <= d_user[`OLAF_TUSER_CLUSTER];
            meta[`OLAF_META_WORKER] <= d_user[`OLAF_TUSER_WORKER];
            meta[`OLAF_META_TRACKED] <= !fifo;
        end
        if (keep_pending) kept[at_place] <= now_kept;
    end

    wire unused = &{1'b0, bound_step[3], in_user, f_user[`OLAF_TUSER_KIND], d_user[`OLAF_TUSER_KIND]};
endmodule
`default_nettype wire
