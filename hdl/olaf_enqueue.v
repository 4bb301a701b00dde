// The enqueue decision: three steps from an update's first beat to its fate, and what is settled when
// the update has arrived to its end.
//
//   look up   (beat in ingress)  where the cluster's newest update is, and whose
//   fetch     (beat in `f_`)     what that update's headers say
//   decide    (beat in `d_`)     Algorithm 1; the fate is in force from the next cycle on
//
// An update whose fate is in force but which has not arrived to its end is the *arriving* one. It is
// written to the spare segment, beside the waiting update it will merge with or replace, so that a bad
// frame can be undone by forgetting it. It may begin to leave before its end (cut-through).
`include "olaf_layout.vh"
`include "olaf_fates.vh"
`include "olaf_beside.vh"
module olaf_enqueue #(
    parameter SLOTS = 8,
    parameter CLUSTER_BITS = 4,
    parameter SEGMENT_BITS = 4,
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
    input  wire [31:0]             replaceable_by,

    // The out list and the dequeue.
    input  wire [PLACE_BITS:0]     count,
    input  wire [PLACE_BITS-1:0]   tail,
    input  wire                    busy,          // the head is leaving
    input  wire [PLACE_BITS-1:0]   head,
    input  wire                    start,         // the update at `start_place` begins to leave
    input  wire [PLACE_BITS-1:0]   start_place,
    output wire [PLACE_BITS-1:0]   old_place,
    input  wire [SEGMENT_BITS-1:0] old_segment,
    input  wire [SEGMENT_BITS-1:0] free_segment,

    // Beats for the merge pipeline; with them, what is to be done.
    output wire                    out_valid,
    input  wire                    out_ready,
    output wire                    out_first,
    output wire                    out_missing,
    output wire [511:0]            out_data,

    // The arriving update.
    output reg                     arriving,
    output reg  [3:0]              fate,
    output reg  [PLACE_BITS-1:0]   at_place,
    output reg  [SEGMENT_BITS-1:0] segment,
    output reg  [SEGMENT_BITS-1:0] merge_segment, // what it merges with
    output wire [SEGMENT_BITS-1:0] next_segment,  // of the next update to arrive
    output reg                     old_headers,   // the merged update keeps the waiting one's headers
    output reg  [15:0]             merged_count,
    output reg  [31:0]             merged_reward,
    output reg  [`OLAF_BESIDE_BITS-1:0]  beside,
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
    output wire [31:0]             commit_worker
);
    localparam [PLACE_BITS:0] FULL = SLOTS[PLACE_BITS:0];
    localparam KEPT_BITS = 16 + 32 + 32 + 32 + 32 + 64 + 16;  // see `kept`

    // Beats on their way, and the first beat's tuser and lookups beside them.
    reg         f_valid, d_valid;
    reg         f_first, d_first, f_missing, d_missing;
    reg [511:0] f_data, d_data;
    reg [`OLAF_TUSER_OCCUPANCY_LOW-1:0] f_user, d_user;
    reg [2:0]   f_fault, d_fault;
    reg         f_present, d_present, f_locked, d_locked, f_replaceable, d_replaceable;
    reg [31:0]  f_replaceable_by;
    reg         d_same_worker;
    reg [PLACE_BITS-1:0] f_place, d_place;
    reg [31:0]  d_key;
    reg [SEGMENT_BITS-1:0] spare;
    reg         aggregated;

    wire go = out_ready;
    assign in_ready = go;
    assign idle = !f_valid && !d_valid && !arriving;
    assign out_valid = d_valid;
    assign out_first = d_first;
    assign out_missing = d_missing;
    assign out_data = d_data;

    function [15:0] order2(input [15:0] wire_order);
        order2 = {wire_order[7:0], wire_order[15:8]};
    endfunction
    function [31:0] order4(input [31:0] wire_order);
        order4 = {order2(wire_order[15:0]), order2(wire_order[31:16])};
    endfunction
    function [63:0] order8(input [63:0] wire_order);
        order8 = {order4(wire_order[31:0]), order4(wire_order[63:32])};
    endfunction

    // An update that is found unlocked may begin to leave while the decision is under way.
    wire in_locks = (busy && place == head) || (start && place == start_place);
    wire f_locks = (busy && f_place == head) || (start && f_place == start_place);
    wire d_locks = (busy && d_place == head) || (start && d_place == start_place);

    // Look up.
    assign cluster = in_user[`OLAF_TUSER_CLUSTER_LOW +: CLUSTER_BITS];

    // What is kept of each waiting update's headers, by its place in the out list.
    reg [KEPT_BITS-1:0] kept [0:(1<<PLACE_BITS)-1];
    reg [KEPT_BITS-1:0] d_kept;
    wire [15:0] old_count, old_length;
    wire [31:0] old_reward, old_key, old_above, old_below;
    wire [63:0] old_time;
    assign {old_count, old_reward, old_key, old_above, old_below, old_time, old_length} = d_kept;

    wire [31:0] f_key;
    olaf_reward_key incoming_key (order4(f_data[`OLAF_OLAF_REWARD]), f_key);

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
    wire [15:0] d_count = order2(d_data[`OLAF_OLAF_COUNT]);
    wire [31:0] d_reward = order4(d_data[`OLAF_OLAF_REWARD]);
    wire [63:0] d_time = order8(d_data[`OLAF_OLAF_GEN_TIME]);
    wire [15:0] d_length = order2(d_data[`OLAF_OLAF_LENGTH]);
    wire        d_aggregated = d_data[`OLAF_OLAF_FLAGS_LOW];
    wire        locked_now = d_locked || d_locks;
    wire        deciding /* verilator public_flat_rd */;
    assign deciding = d_valid && d_first && go;
    assign old_place = d_place;
    assign next_segment = spare;

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
        .reward_above(d_key > old_above),
        .reward_below(d_key < old_below),
        .fate(decision)
    );

    wire        merging = decision == `OLAF_MERGE;
    wire        higher = d_key > old_key;
    wire        newer = d_time >= old_time;
    wire [16:0] counts = {1'b0, d_count} + {1'b0, old_count};

    // The bounds outside which a later update's reward is not comparable, ready one cycle after the fate.
    wire [31:0] bound_above, bound_below, key_above, key_below;
    reg  [3:0]  bound_step;
    wire        launch = in_valid && in_first && go;
    wire [31:0] in_reward = order4(in_data[`OLAF_OLAF_REWARD]);
    always @(posedge clk) bound_step <= {bound_step[2:0], launch};
    olaf_fp32_add #(.LATENCY(4)) add_above (
        clk, {bound_step[2:0], launch}, 1'b0, in_reward, reward_threshold, bound_above
    );
    olaf_fp32_add #(.LATENCY(4)) add_below (
        clk, {bound_step[2:0], launch}, 1'b0, in_reward, reward_threshold ^ 32'h80000000, bound_below
    );
    olaf_reward_key above_key (bound_above, key_above);
    olaf_reward_key below_key (bound_below, key_below);

    // In force.
    reg [31:0] merged_key, waiting_above, waiting_below;
    reg [63:0] merged_time;
    reg [15:0] length;
    reg        keep_bounds;     // the waiting update's reward was the higher
    reg        keep_pending;    // what is kept follows the commit by a cycle
    wire       drops = fate[`OLAF_IS_DROP];

    assign commit = ended;
    assign committed = ended && ending == `OLAF_END_GOOD && !drops;
    assign known_sender = ended && ending == `OLAF_END_GOOD && fate != `OLAF_DROP_FAULT;
    assign commit_replaceable = fate != `OLAF_MERGE && !aggregated;
    assign commit_worker = beside[`OLAF_BESIDE_WORKER];

    always @(posedge clk)
        if (rst) begin
            arriving <= 1'b0;
            keep_pending <= 1'b0;
            spare <= SLOTS[SEGMENT_BITS-1:0];
        end else begin
            keep_pending <= committed;
            if (deciding) arriving <= 1'b1;
            else if (commit) arriving <= 1'b0;
            if (committed) spare <= fate == `OLAF_APPEND ? free_segment : merge_segment;
        end

    always @(posedge clk) begin
        if (start && arriving && !drops && start_place == at_place) leaving <= 1'b1;
        if (deciding) begin
            leaving <= 1'b0;
            fate <= decision;
            fault <= d_fault;
            tracked <= !fifo;
            after_locked <= !fifo && d_present && d_locks;
            commit_cluster <= d_user[`OLAF_TUSER_CLUSTER_LOW +: CLUSTER_BITS];
            aggregated <= d_aggregated;
            at_place <= decision == `OLAF_APPEND ? tail : d_place;
            segment <= spare;
            merge_segment <= old_segment;
            old_headers <= merging && !newer;
            saturated <= merging && counts[16];
            merged_count <= !merging ? d_count : counts[16] ? 16'hffff : counts[15:0];
            merged_reward <= merging && !higher ? old_reward : d_reward;
            merged_key <= merging && !higher ? old_key : d_key;
            merged_time <= merging && !newer ? old_time : d_time;
            keep_bounds <= merging && !higher;
            waiting_above <= old_above;
            waiting_below <= old_below;
            length <= d_length;
            beside <= {!fifo, d_user[`OLAF_TUSER_WORKER], d_user[`OLAF_TUSER_CLUSTER],
                       d_user[`OLAF_TUSER_DST], d_user[`OLAF_TUSER_SRC], d_user[`OLAF_TUSER_SIZE]};
        end
        if (keep_pending)
            kept[at_place] <= {merged_count, merged_reward, merged_key,
                               keep_bounds ? waiting_above : key_above,
                               keep_bounds ? waiting_below : key_below, merged_time, length};
    end

    wire unused = &{1'b0, bound_step[3], in_user, f_user[`OLAF_TUSER_KIND], d_user[`OLAF_TUSER_KIND]};
endmodule
