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
//
// What is compared with the waiting update's headers is in olaf_merged_headers, with the round that accumulates in
// olaf_contribution.
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
    input  wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] newest,

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
    output wire                    old_headers,   // the merged update keeps the waiting one's headers
    output reg                     patches,       // its headers become those of an aggregate:
    output wire [`OLAF_PATCH_BITS-1:0] patch,
    output reg                     accumulates,   // it came in a mode that sums
    output reg  [`OLAF_META_BITS-1:0] meta,
    output reg                     leaving,       // it has begun to leave

    // Settled, in the cycle in which it has ended.
    output wire                    committed,     // as decided: it was good, or repaired
    output wire                    known_sender,  // of no fault of its own
    output reg  [`OLAF_FAULT_BITS-1:0] fault,
    output reg                     tracked,
    output reg                     after_locked,
    output wire                    saturated,
    output reg  [INDEX_BITS-1:0]   commit_index,
    output wire                    commit_replaceable,
    output wire                    completes,     // its round: the sum joins the out list
    output wire [ROW_BITS-1:0]     commit_row
);
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    localparam SPARE_ADDRESS = SLOTS * BEATS;
    localparam USER_BITS = `OLAF_TUSER_OCCUPANCY_LOW;  // what the queue does not write itself

    // Beats on their way, and the first beat's tuser and lookups with them.
    reg         f_valid, d_valid;
    reg         f_first, d_first;
    reg [`OLAF_LANES-1:0] f_missing, d_missing;
    reg [`OLAF_BEAT_BITS-1:0] f_data, d_data;
    reg [USER_BITS-1:0] f_user, d_user;
    reg [`OLAF_FAULT_BITS-1:0] f_fault, d_fault;
    reg         f_present, d_present, f_replaceable, d_replaceable;
    reg [`OLAF_TUSER_WORKER_WIDTH-1:0] f_replaceable_by;
    reg [`OLAF_SETTINGS_BITS-1:0] f_settings, d_settings;
    reg         d_same_worker;
    reg [SLOT_BITS-1:0] f_slot, d_slot;
    reg [BUFFER_BITS+ADDR_BITS-1:0] spare, freed_buffer;   // the latter is the spare one once the update is settled
    reg         aggregated;

    wire go = out_ready;
    wire look = go && in_valid && in_first;
    wire fetch = go && f_valid && f_first;
    wire deciding /* verilator public_flat_rd */;
    assign deciding = go && d_valid && d_first;
    assign in_ready = go;
    assign idle = !f_valid && !d_valid && !arriving;
    assign out_valid = d_valid;
    assign out_first = d_first;
    assign out_missing = d_missing;

    // Look up.
    // Only a first beat's index is looked up. Stating it here keeps Yosys from reading the tables a cycle earlier
    // with what is written to them then put in its place, for which it would have to know the next beat's index.
    assign index = in_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS] & {INDEX_BITS{in_first}};
    wire in_sums = settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH
                || settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH_ASYNC;
    wire [SLOT_BITS-1:0] in_slot = in_sums ? row[ROW_BITS-2 -: SLOT_BITS] : present_slot;

    always @(posedge clk)
        if (rst) begin
            f_valid <= 1'b0;
            d_valid <= 1'b0;
        end else if (go) begin
            f_valid <= in_valid;
            d_valid <= f_valid;
        end

    // How many versions ago its weights were; half the range and more is not behind but ahead.
    assign fetched = f_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS];
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] behind = newest - `OLAF_OLAF_WEIGHTS_VERSION_VALUE(f_data);
    reg  [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] d_staleness;

    always @(posedge clk) begin
        if (go && in_valid) begin
            f_first <= in_first;
            f_missing <= in_missing;
            f_data <= in_data;
        end
        if (look) begin
            f_user <= in_user[USER_BITS-1:0];
            f_fault <= in_fault;
            f_present <= present;
            f_slot <= in_slot;
            f_settings <= settings;
            f_replaceable <= replaceable;
            f_replaceable_by <= replaceable_by;
        end
        if (go && f_valid) begin
            d_first <= f_first;
            d_missing <= f_missing;
            d_data <= f_data;
        end
        if (fetch) begin
            d_user <= f_user;
            d_fault <= f_fault;
            d_present <= f_present;
            d_slot <= f_slot;
            d_replaceable <= f_replaceable;
            d_same_worker <= f_replaceable_by == f_user[`OLAF_TUSER_WORKER];
            d_settings <= f_settings;
            d_staleness <= newest_known && !behind[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1] ? behind : {`OLAF_OLAF_WEIGHTS_VERSION_WIDTH{1'b0}};
        end
    end

    wire locked, lock_leaves;
    olaf_lock #(.SLOT_BITS(SLOT_BITS)) lock (
        .clk(clk), .look(look), .fetch(fetch), .fetch_slot(f_slot), .decide_slot(d_slot),
        .busy(busy), .leaving_slot(leaving_slot), .start_first(start_first), .first(first),
        .locked(locked), .leaves(lock_leaves)
    );

    wire [`OLAF_OLAF_COUNT_WIDTH-1:0] merged_count;
    wire same_size, reward_above, reward_below, merging, enough;
    olaf_merged_headers #(.SLOT_BITS(SLOT_BITS)) merged (
        .clk(clk), .rst(rst),
        .fetch(fetch), .fetch_slot(f_slot), .fetch_data(f_data), .fetch_size(f_user[`OLAF_TUSER_SIZE]),
        .reward_threshold(f_settings[`OLAF_SETTINGS_REWARD_THRESHOLD]),
        .decide_slot(d_slot), .decide_data(d_data),
        .same_size(same_size), .reward_above(reward_above), .reward_below(reward_below),
        .decide(deciding), .merging(merging), .threshold(d_settings[`OLAF_SETTINGS_THRESHOLD]), .enough(enough),
        .old_headers(old_headers), .saturated(saturated), .count(merged_count),
        .reward(patch[`OLAF_PATCH_REWARD]), .weights_version(patch[`OLAF_PATCH_WEIGHTS_VERSION]), .summed(patch[`OLAF_PATCH_SUMMED]),
        .keep(committed), .keep_slot(at_slot), .keep_size(meta[`OLAF_META_SIZE])
    );
    assign patch[`OLAF_PATCH_COUNT] = merged_count;

    reg  numbers;   // its index numbers results
    wire numbered = d_settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH_ASYNC;
    wire sums = numbered || d_settings[`OLAF_SETTINGS_MODE] == `OLAF_MODE_ISWITCH;
    wire index_accumulates, same_round, older_round, counted, finished, member_known, taken, before_window;
    olaf_contribution #(
        .INDEX_BITS(INDEX_BITS), .SLOT_BITS(SLOT_BITS), .MEMBERS(MEMBERS), .ROW_BITS(ROW_BITS)
    ) contribution (
        .clk(clk),
        .look(look), .index(index), .member(in_user[`OLAF_TUSER_MEMBER]), .row(row),
        .fetch(fetch), .fetch_member(f_user[`OLAF_TUSER_MEMBER]), .number(`OLAF_OLAF_SEQ_VALUE(f_data)),
        .accumulates(index_accumulates), .same_round(same_round), .older_round(older_round), .counted(counted),
        .finished(finished), .member_known(member_known), .taken(taken), .before_window(before_window),
        .decide(deciding), .merging(merging), .numbered(numbered), .own_round(`OLAF_OLAF_SEQ_VALUE(d_data)),
        .sums(sums), .enough(enough), .completes(completes), .round(patch[`OLAF_PATCH_SEQ]),
        .take(committed && numbers), .slot(at_slot), .count(merged_count), .new_row(commit_row)
    );
    assign patch[`OLAF_PATCH_NUMBERED] = numbers;

    // Decide.
    assign old_slot = d_slot;
    assign next_write = spare[ADDR_BITS-1:0];
    assign next_spare = freed_buffer[ADDR_BITS +: BUFFER_BITS];
    wire        d_aggregated = |(d_data[`OLAF_OLAF_FLAGS] & `OLAF_FLAG_AGGREGATED);
    wire        tracks = !sums && d_settings[`OLAF_SETTINGS_MODE] != `OLAF_MODE_FIFO;

    wire        weighs, stale;
    wire [3:0]  new_shift;
    olaf_staleness stale_rule (
        .enable(d_settings[`OLAF_SETTINGS_STALE_ENABLE]), .aggregated(d_aggregated), .staleness(d_staleness),
        .bound(d_settings[`OLAF_SETTINGS_STALE_BOUND]), .shifts(shifts),
        .weighs(weighs), .drops(stale), .shift(new_shift)
    );

    wire [`OLAF_DISPOSITION_BITS-1:0] decision;
    olaf_decide decide (
        .fault(d_fault),
        .halted(d_settings[`OLAF_SETTINGS_HALTED]),
        .stale(stale),
        .mode(d_settings[`OLAF_SETTINGS_MODE]),
        .full(used == FULL),
        .member_known(member_known),
        .accumulates(index_accumulates),
        .same_round(same_round),
        .older_round(older_round),
        .counted(counted),
        .finished(finished),
        .taken(taken),
        .before_window(before_window),
        .quota_reached(quota_reached),
        .waiting(d_present && !locked),
        .replaceable(d_replaceable),
        .same_worker(d_same_worker),
        .aggregated(d_aggregated),
        .same_size(same_size),
        .reward_enable(d_settings[`OLAF_SETTINGS_REWARD_ENABLE]),
        .reward_above(reward_above),
        .reward_below(reward_below),
        .disposition(decision)
    );
    wire        appends = decision == `OLAF_APPEND;
    assign merging = decision == `OLAF_MERGE;

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

    // In force.
    always @(posedge clk) begin
        if (start_arriving) leaving <= 1'b1;
        if (deciding) begin
            leaving <= 1'b0;
            disposition <= decision;
            fault <= d_fault;
            tracked <= tracks;
            after_locked <= tracks && d_present && lock_leaves;
            commit_index <= d_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS];
            accumulates <= sums;
            numbers <= numbered;
            patches <= merging || sums || weighs;
            shift <= new_shift;
            aggregated <= d_aggregated;
            at_slot <= appends ? free_slot : d_slot;
            buffer <= spare;
            freed_buffer <= appends ? free_buffer : old_buffer;
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
    end

    assign committed = ended && ending == `OLAF_END_GOOD && !disposition[`OLAF_IS_DROP];
    assign known_sender = ended && ending == `OLAF_END_GOOD && disposition != `OLAF_DROP_FAULT;
    assign commit_replaceable = disposition != `OLAF_MERGE && !aggregated;

    always @(posedge clk)
        if (rst) begin
            arriving <= 1'b0;
            spare <= {SLOTS[BUFFER_BITS-1:0], SPARE_ADDRESS[ADDR_BITS-1:0]};
        end else begin
            if (deciding) arriving <= 1'b1;
            else if (ended) arriving <= 1'b0;
            if (committed) spare <= freed_buffer;
        end

    wire unused = &{1'b0, in_user, f_user[`OLAF_TUSER_KIND], d_user[`OLAF_TUSER_KIND], d_settings[`OLAF_SETTINGS_REWARD_THRESHOLD]};
endmodule
`default_nettype wire
