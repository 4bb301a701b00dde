// The enqueue decision: three steps from an update's first beat to its disposition, and what is settled
// when the update has arrived to its end.
//
//   look up   (beat in ingress)  where the index' newest update is, and whose
//   fetch     (beat in `f_`)     what that update's headers say
//   decide    (beat in `d_`)     by the index' mode; the disposition is in force from the next cycle on
//
// An update whose disposition is in force but which has not arrived to its end is the *arriving* one. It
// is written to the spare buffer, next to the waiting update it will merge with or replace, so that a bad
// frame can be undone by forgetting it. It may begin to leave before its end (cut-through).
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_enqueue #(
    parameter SLOTS = 8,
    parameter BEATS = 24,
    parameter INDEX_BITS = 4,
    parameter SLOT_BITS = 3,
    parameter BUFFER_BITS = 4,
    parameter ADDR_BITS = 8,
    parameter MEMBERS = 32,
    parameter ROW_BITS = 1  // of olaf_accumulate
) (
    input  wire                    clk,
    input  wire                    rst,

    // Beats from ingress.
    input  wire                    in_valid,
    output wire                    in_ready,
    output wire                    idle,
    input  wire                    in_first,
    input  wire [`OLAF_LANES-1:0]  in_missing,
    input  wire [`OLAF_FAULT_BITS-1:0] in_fault,
    input  wire [`OLAF_BEAT_BITS-1:0]  in_data,
    input  wire [`OLAF_TUSER_BITS-1:0] in_user,
    input  wire                    ended,
    input  wire [`OLAF_END_BITS-1:0] ending,

    // What is known of the index of ingress' beat.
    output wire [INDEX_BITS-1:0]   index,
    input  wire [`OLAF_SETTINGS_BITS-1:0] settings,
    input  wire [ROW_BITS-1:0]     row,           // the round that it accumulates
    input  wire                    quota_reached, // no other round may be accumulated
    input  wire [63:0]             shifts,        // of the staleness rule
    input  wire                    present,
    input  wire [SLOT_BITS-1:0]    present_slot,
    input  wire                    replaceable,
    input  wire [`OLAF_TUSER_WORKER_WIDTH-1:0] replaceable_by,

    // What is known of the index a cycle later.
    output wire [INDEX_BITS-1:0]   fetched,
    input  wire                    newest_known,
    input  wire [`OLAF_OLAF_POLICY_WIDTH-1:0] newest,

    // The slots, the free list and the dequeue. A buffer is its number and its first beat's address.
    input  wire [SLOT_BITS:0]      used,
    input  wire [SLOT_BITS-1:0]    free_slot,
    input  wire [BUFFER_BITS+ADDR_BITS-1:0] free_buffer,
    output wire [SLOT_BITS-1:0]    old_slot,      // of the update that waits already
    input  wire [BUFFER_BITS+ADDR_BITS-1:0] old_buffer,
    input  wire                    busy,          // the update at `leaving_slot` is leaving
    input  wire [SLOT_BITS-1:0]    leaving_slot,
    input  wire                    start_first,   // the one at `first` begins to
    input  wire [SLOT_BITS-1:0]    first,
    input  wire                    start_arriving,

    // Beats for the merge pipeline; with them, what is to be done.
    output wire                    out_valid,
    input  wire                    out_ready,
    output wire                    out_first,
    output wire [`OLAF_LANES-1:0]  out_missing,
    output wire [`OLAF_BEAT_BITS-1:0] out_data,
    output wire [ADDR_BITS-1:0]    next_write,    // where the next update to arrive will be written

    // The arriving update.
    output reg                     arriving,
    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition,
    output reg  [SLOT_BITS-1:0]    at_slot,
    output reg  [BUFFER_BITS+ADDR_BITS-1:0] buffer,
    output wire [BUFFER_BITS-1:0]  next_spare,    // the buffer that its slot gives for it
    output reg                     old_headers,   // the merged update keeps the waiting one's headers
    output reg  [`OLAF_OLAF_COUNT_WIDTH-1:0]  merged_count,
    output reg  [`OLAF_OLAF_REWARD_WIDTH-1:0] merged_reward,
    output reg  [`OLAF_OLAF_POLICY_WIDTH-1:0] merged_policy,
    output reg                     merged_summed, // which is the sum of all versions, not the oldest
    output reg                     patches,       // its headers become those of an aggregate
    output reg                     accumulates,   // it came in a mode that sums
    output reg                     numbers,       // which gives its results numbers:
    output reg  [`OLAF_OLAF_SEQ_WIDTH-1:0] round, // its sum's, else its own round
    output reg  [`OLAF_META_BITS-1:0] meta,
    output reg                     leaving,       // it has begun to leave

    // Settled, in this cycle.
    output wire                    commit,
    output wire                    committed,     // as decided: it was good, or repaired
    output wire                    known_sender,  // of no fault of its own
    output reg  [`OLAF_FAULT_BITS-1:0] fault,
    output reg                     tracked,
    output reg                     after_locked,
    output reg                     saturated,
    output reg  [INDEX_BITS-1:0]   commit_index,
    output wire                    commit_replaceable,
    output reg                     completes,     // its round: the sum joins the out list
    output wire [ROW_BITS-1:0]     commit_row
);
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    localparam SPARE_ADDRESS = SLOTS * BEATS;
    localparam MEMBER_BITS = MEMBERS > 1 ? $clog2(MEMBERS) : 1;
    localparam ROUND_BITS = `OLAF_OLAF_SEQ_WIDTH;
    localparam USER_BITS = `OLAF_TUSER_OCCUPANCY_LOW;  // what the queue does not write itself

    // Beats on their way, and the first beat's tuser and lookups with them.
    reg         f_valid, d_valid;
    reg         f_first, d_first;
    reg [`OLAF_LANES-1:0] f_missing, d_missing;
    reg [`OLAF_BEAT_BITS-1:0] f_data, d_data;
    reg [USER_BITS-1:0] f_user, d_user;
    reg [`OLAF_FAULT_BITS-1:0] f_fault, d_fault;
    reg         f_present, d_present, d_locked, f_replaceable, d_replaceable;
    reg [`OLAF_TUSER_WORKER_WIDTH-1:0] f_replaceable_by;
    reg [`OLAF_SETTINGS_BITS-1:0] f_settings, d_settings;
    reg [ROW_BITS-1:0] f_row;
    reg                d_accumulates, d_same_round, d_older_round, d_counted, d_finished, d_member_known;
    reg [MEMBERS-1:0]  d_others, d_member, members;   // in the sum, and the one that is added
    reg                was_finished, d_was_finished;  // a round was, and which
    reg [ROUND_BITS-1:0] finished_round, d_finished_round;
    reg         d_same_worker;
    reg [SLOT_BITS-1:0] f_slot, d_slot;
    reg [`OLAF_KEPT_KEY_WIDTH-1:0] d_key;
    reg [BUFFER_BITS+ADDR_BITS-1:0] spare, its_spare;
    reg         aggregated;
    reg         keep_pending;    // what is kept of an update follows its commit by a cycle,
    reg         keep_bounds;     // the bounds of its reward by two

    wire go = out_ready;
    assign in_ready = go;
    assign idle = !f_valid && !d_valid && !arriving;
    assign out_valid = d_valid;
    assign out_first = d_first;
    assign out_missing = d_missing;

    // Lanes are scaled once it is decided by how much: those of a first beat are its headers.
    reg [3:0] shift;
    genvar lane;
    generate
        for (lane = 0; lane < `OLAF_LANES; lane = lane + 1) begin : lanes
            olaf_scale scale (
                .value(d_data[32*lane +: 32]), .shift(shift & {4{!d_first}}), .scaled(out_data[32*lane +: 32])
            );
        end
    endgenerate

    // Look up.
    // Only a first beat's index is looked up. That it says so here keeps Yosys from reading the tables a cycle earlier
    // with what is written to them then put in its place, for which it would have to know the next beat's index.
    assign index = in_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS] & {INDEX_BITS{in_first}};
    wire in_sums = settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH
                || settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH_ASYNC;
    wire [SLOT_BITS-1:0] in_slot = in_sums ? row[ROW_BITS-2 -: SLOT_BITS] : present_slot;

    // An update that is found unlocked may begin to leave while the decision is under way.
    // What began to as it was looked up is compared with a cycle later: then its slot is in a register.
    reg                  f_looked_up, f_was_locked, was_busy, was_start;
    reg  [SLOT_BITS-1:0] was_leaving, was_first;
    wire f_locked = f_was_locked
                 || (f_looked_up && ((was_busy && f_slot == was_leaving) || (was_start && f_slot == was_first)));
    wire f_locks = (busy && f_slot == leaving_slot) || (start_first && f_slot == first);
    wire d_locks = (busy && d_slot == leaving_slot) || (start_first && d_slot == first);

    // What is kept of each waiting update's headers.
    reg [`OLAF_KEPT_BITS-1:0] kept [0:(1<<SLOT_BITS)-1];
    reg [`OLAF_KEPT_BITS-1:0] d_kept;
    wire [`OLAF_KEPT_COUNT_WIDTH-1:0]    old_count = d_kept[`OLAF_KEPT_COUNT];
    wire [`OLAF_KEPT_POLICY_WIDTH-1:0]   old_policy = d_kept[`OLAF_KEPT_POLICY];
    wire                                 old_summed = d_kept[`OLAF_KEPT_SUMMED];
    wire [`OLAF_KEPT_REWARD_WIDTH-1:0]   old_reward = d_kept[`OLAF_KEPT_REWARD];
    wire [`OLAF_KEPT_KEY_WIDTH-1:0]      old_key = d_kept[`OLAF_KEPT_KEY];
    wire [`OLAF_KEPT_GEN_TIME_WIDTH-1:0] old_time = d_kept[`OLAF_KEPT_GEN_TIME];

    // How the update compares with them, found out as they are fetched: the decision has no time for it.
    wire [`OLAF_KEPT_BITS-1:0] f_kept = kept[f_slot];
    wire [`OLAF_OLAF_GEN_TIME_WIDTH-1:0] later = `OLAF_OLAF_GEN_TIME_VALUE(f_data) - f_kept[`OLAF_KEPT_GEN_TIME];
    wire [`OLAF_OLAF_POLICY_WIDTH-1:0] policy_ahead = `OLAF_OLAF_POLICY_VALUE(f_data) - f_kept[`OLAF_KEPT_POLICY];
    reg         same_size, higher, newer, older_policy;

    // How many versions ago its weights were; half the range and more is not behind but ahead.
    assign fetched = f_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS];
    wire [`OLAF_OLAF_POLICY_WIDTH-1:0] behind = newest - `OLAF_OLAF_POLICY_VALUE(f_data);
    reg  [`OLAF_OLAF_POLICY_WIDTH-1:0] d_staleness;

    wire [`OLAF_KEPT_KEY_WIDTH-1:0] f_key;
    olaf_reward_key incoming_key (.value(`OLAF_OLAF_REWARD_VALUE(f_data)), .key(f_key));

    // The round that accumulates, and how far ahead of it and of the finished one the update's is.
    wire                  f_accumulates, f_finished;
    wire [SLOT_BITS-1:0]  f_accumulates_in;
    wire [ROUND_BITS-1:0] f_round, f_finished_round;
    wire [MEMBERS-1:0]    f_members;
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0] f_sum_count;
    assign {f_accumulates, f_accumulates_in, f_round, f_members, f_sum_count, f_finished, f_finished_round} = f_row;
    wire [ROUND_BITS-1:0] f_seq = `OLAF_OLAF_SEQ_VALUE(f_data);
    wire [ROUND_BITS-1:0] ahead = f_seq - f_round;
    wire [ROUND_BITS-1:0] after_finished = f_seq - f_finished_round;
    wire [MEMBERS-1:0]    f_member = {{(MEMBERS - 1){1'b0}}, 1'b1} << f_user[`OLAF_TUSER_MEMBER];

    always @(posedge clk)
        if (rst) begin
            f_valid <= 1'b0;
            d_valid <= 1'b0;
        end else if (go) begin
            f_valid <= in_valid;
            d_valid <= f_valid;
        end

    always @(posedge clk) begin
        was_busy <= busy;
        was_start <= start_first;
        was_leaving <= leaving_slot;
        was_first <= first;
        f_looked_up <= 1'b0;
        f_was_locked <= f_locked || f_locks;
        d_locked <= d_locked || d_locks;
        if (go && in_valid) begin
            f_first <= in_first;
            f_missing <= in_missing;
            f_data <= in_data;
            if (in_first) begin
                f_user <= in_user[USER_BITS-1:0];
                f_fault <= in_fault;
                f_present <= present;
                f_slot <= in_slot;
                f_settings <= settings;
                f_row <= row;
                f_looked_up <= 1'b1;
                f_was_locked <= 1'b0;
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
                d_slot <= f_slot;
                d_locked <= f_locked || f_locks;
                d_replaceable <= f_replaceable;
                d_same_worker <= f_replaceable_by == f_user[`OLAF_TUSER_WORKER];
                d_key <= f_key;
                d_kept <= f_kept;
                same_size <= f_user[`OLAF_TUSER_SIZE] == f_kept[`OLAF_KEPT_SIZE];
                higher <= f_key > f_kept[`OLAF_KEPT_KEY];
                newer <= !later[`OLAF_OLAF_GEN_TIME_WIDTH-1];
                older_policy <= policy_ahead[`OLAF_OLAF_POLICY_WIDTH-1];
                d_settings <= f_settings;
                d_staleness <= newest_known && !behind[`OLAF_OLAF_POLICY_WIDTH-1] ? behind : {`OLAF_OLAF_POLICY_WIDTH{1'b0}};
                d_accumulates <= f_accumulates;
                d_same_round <= ahead == 0;
                d_older_round <= ahead[ROUND_BITS-1];
                d_counted <= |(f_members & f_member);
                d_others <= f_members;
                d_member <= f_member;
                d_member_known <= {24'd0, f_user[`OLAF_TUSER_MEMBER]} < MEMBERS;
                d_finished <= f_finished && (after_finished == 0 || after_finished[ROUND_BITS-1]);
                d_was_finished <= f_finished;
                d_finished_round <= f_finished_round;
            end
        end
    end

    // Decide.
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0]    d_count = `OLAF_OLAF_COUNT_VALUE(d_data);
    wire [`OLAF_OLAF_REWARD_WIDTH-1:0]   d_reward = `OLAF_OLAF_REWARD_VALUE(d_data);
    wire [`OLAF_OLAF_GEN_TIME_WIDTH-1:0] d_time = `OLAF_OLAF_GEN_TIME_VALUE(d_data);
    wire [`OLAF_OLAF_POLICY_WIDTH-1:0]   d_policy = `OLAF_OLAF_POLICY_VALUE(d_data);
    wire [`OLAF_OLAF_SEQ_WIDTH-1:0]      d_seq = `OLAF_OLAF_SEQ_VALUE(d_data);
    wire        d_summed = |(d_data[`OLAF_OLAF_FLAGS] & `OLAF_FLAG_SUMMED);
    wire        d_aggregated = |(d_data[`OLAF_OLAF_FLAGS] & `OLAF_FLAG_AGGREGATED);
    wire        locked_now = d_locked || d_locks;
    wire        deciding /* verilator public_flat_rd */;
    assign deciding = d_valid && d_first && go;
    assign old_slot = d_slot;
    assign next_write = spare[ADDR_BITS-1:0];
    assign next_spare = its_spare[ADDR_BITS +: BUFFER_BITS];

    wire        reward_above, reward_below;
    wire        launch = f_valid && f_first && go;
    olaf_reward_bounds #(.SLOT_BITS(SLOT_BITS)) reward_bounds (
        .clk(clk), .launch(launch), .reward(`OLAF_OLAF_REWARD_VALUE(f_data)),
        .threshold(f_settings[`OLAF_SETTINGS_REWARD_THRESHOLD]),
        .slot(d_slot), .key(d_key), .above(reward_above), .below(reward_below),
        .keep(keep_bounds), .keep_slot(at_slot)
    );

    wire        weighs, stale;
    wire [3:0]  new_shift;
    olaf_staleness stale_rule (
        .enable(d_settings[`OLAF_SETTINGS_STALE_ENABLE]), .aggregated(d_aggregated), .staleness(d_staleness),
        .bound(d_settings[`OLAF_SETTINGS_STALE_BOUND]), .shifts(shifts),
        .weighs(weighs), .drops(stale), .shift(new_shift)
    );

    wire taken, late;
    olaf_windows #(.INDEX_BITS(INDEX_BITS), .MEMBER_BITS(MEMBER_BITS)) windows (
        .clk(clk), .look(go && in_valid && in_first), .index(index),
        .member(in_user[`OLAF_TUSER_MEMBER_LOW +: MEMBER_BITS]),
        .compare(launch), .number(f_seq), .taken(taken), .late(late),
        .take(committed && numbers), .known(d_counted)
    );

    wire [`OLAF_DISPOSITION_BITS-1:0] decision;
    olaf_decide decide (
        .fault(d_fault),
        .halted(d_settings[`OLAF_SETTINGS_HALTED]),
        .stale(stale),
        .mode(d_settings[`OLAF_SETTINGS_MODE]),
        .full(used == FULL),
        .member_known(d_member_known),
        .accumulates(d_accumulates),
        .same_round(d_same_round),
        .older_round(d_older_round),
        .counted(d_counted),
        .finished(d_finished),
        .taken(taken),
        .late(late),
        .quota_reached(quota_reached),
        .waiting(d_present && !locked_now),
        .replaceable(d_replaceable),
        .same_worker(d_same_worker),
        .aggregated(d_aggregated),
        .same_size(same_size),
        .reward_enable(d_settings[`OLAF_SETTINGS_REWARD_ENABLE]),
        .reward_above(reward_above),
        .reward_below(reward_below),
        .disposition(decision)
    );

    // Two sums of versions are added; of two oldest versions the older counts. Where only one is a sum nothing is
    // known of the versions in it.
    wire [`OLAF_OLAF_POLICY_WIDTH-1:0] versions = d_policy + old_policy;
    wire        keeps_policy = d_summed || (!old_summed && !older_policy);

    wire        appends = decision == `OLAF_APPEND;
    wire        merging = decision == `OLAF_MERGE;
    wire [`OLAF_OLAF_COUNT_WIDTH:0] counts = {1'b0, d_count} + {1'b0, old_count};
    wire        too_many = counts[`OLAF_OLAF_COUNT_WIDTH];
    wire        numbered = d_settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH_ASYNC;
    wire        sums = d_settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH || numbered;
    wire        tracks = !sums && d_settings[`OLAF_SETTINGS_MODE] != `OLAF_MODE_FIFO;
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0] enough = d_settings[`OLAF_SETTINGS_THRESHOLD];

    // In force.
    reg [`OLAF_KEPT_KEY_WIDTH-1:0]      merged_key;
    reg [`OLAF_KEPT_GEN_TIME_WIDTH-1:0] merged_time;
    wire [`OLAF_KEPT_SIZE_WIDTH-1:0]    size = meta[`OLAF_META_SIZE];
    reg        own_reward;      // its reward is the one that counts from now on
    wire       drops = disposition[`OLAF_IS_DROP];

    assign commit = ended;
    assign committed = ended && ending == `OLAF_END_GOOD && !drops;
    assign known_sender = ended && ending == `OLAF_END_GOOD && disposition != `OLAF_DROP_FAULT;
    assign commit_replaceable = disposition != `OLAF_MERGE && !aggregated;
    assign commit_row = {!completes, at_slot, round, members, merged_count, completes || was_finished,
                         completes ? round : finished_round};

    always @(posedge clk)
        if (rst) begin
            arriving <= 1'b0;
            keep_pending <= 1'b0;
            keep_bounds <= 1'b0;
            spare <= {SLOTS[BUFFER_BITS-1:0], SPARE_ADDRESS[ADDR_BITS-1:0]};
        end else begin
            keep_pending <= committed;
            keep_bounds <= keep_pending && own_reward;
            if (deciding) arriving <= 1'b1;
            else if (commit) arriving <= 1'b0;
            if (committed) spare <= its_spare;
        end

    wire [`OLAF_KEPT_BITS-1:0] now_kept;
    assign now_kept[`OLAF_KEPT_COUNT] = merged_count;
    assign now_kept[`OLAF_KEPT_REWARD] = merged_reward;
    assign now_kept[`OLAF_KEPT_KEY] = merged_key;
    assign now_kept[`OLAF_KEPT_GEN_TIME] = merged_time;
    assign now_kept[`OLAF_KEPT_POLICY] = merged_policy;
    assign now_kept[`OLAF_KEPT_SUMMED] = merged_summed;
    assign now_kept[`OLAF_KEPT_SIZE] = size;

    always @(posedge clk) begin
        if (start_arriving) leaving <= 1'b1;
        if (deciding) begin
            leaving <= 1'b0;
            disposition <= decision;
            fault <= d_fault;
            tracked <= tracks;
            after_locked <= tracks && d_present && d_locks;
            commit_index <= d_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS];
            accumulates <= sums;
            numbers <= numbered;
            patches <= merging || sums || weighs;
            shift <= new_shift;
            completes <= sums && (merging ? too_many || counts[`OLAF_OLAF_COUNT_WIDTH-1:0] >= enough : d_count >= enough);
            members <= merging || numbered ? d_others | d_member : d_member;
            round <= numbered ? d_finished_round + 1'b1 : d_seq;
            was_finished <= d_was_finished;
            finished_round <= d_finished_round;
            aggregated <= d_aggregated;
            at_slot <= appends ? free_slot : d_slot;
            buffer <= spare;
            its_spare <= appends ? free_buffer : old_buffer;
            old_headers <= merging && !newer;
            saturated <= merging && too_many;
            merged_count <= !merging ? d_count : too_many ? {`OLAF_OLAF_COUNT_WIDTH{1'b1}} : counts[`OLAF_OLAF_COUNT_WIDTH-1:0];
            merged_reward <= merging && !higher ? old_reward : d_reward;
            merged_key <= merging && !higher ? old_key : d_key;
            merged_time <= merging && !newer ? old_time : d_time;
            merged_policy <= !merging ? d_policy : d_summed && old_summed ? versions : keeps_policy ? old_policy : d_policy;
            merged_summed <= d_summed && (!merging || old_summed);
            own_reward <= !merging || higher;
            meta[`OLAF_META_SIZE] <= d_user[`OLAF_TUSER_SIZE];
            meta[`OLAF_META_SRC] <= d_user[`OLAF_TUSER_SRC];
            meta[`OLAF_META_DST] <= d_user[`OLAF_TUSER_DST];
            meta[`OLAF_META_CLUSTER] <= d_user[`OLAF_TUSER_CLUSTER];
            meta[`OLAF_META_INDEX] <= d_user[`OLAF_TUSER_INDEX];
            meta[`OLAF_META_MEMBER] <= d_user[`OLAF_TUSER_MEMBER];
            meta[`OLAF_META_WORKER] <= d_user[`OLAF_TUSER_WORKER];
            meta[`OLAF_META_TRACKED] <= tracks;
            meta[`OLAF_META_RESULT] <= sums;
        end
        if (keep_pending) kept[at_slot] <= now_kept;
    end

    wire unused = &{1'b0, d_settings[`OLAF_SETTINGS_REWARD_THRESHOLD], f_accumulates_in, f_sum_count, later, policy_ahead, d_kept[`OLAF_KEPT_SIZE], in_user, f_user[`OLAF_TUSER_KIND], d_user[`OLAF_TUSER_KIND]};
endmodule
`default_nettype wire
