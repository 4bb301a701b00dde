// OlafQueue: a queue that combines updates while they wait (OLAF §3, §4, §12.1; docs/registers.md).
//
// AXI4-Stream in and out, one 64-byte beat a cycle, tuser as in olaf_layout.vh; AXI4-Lite registers.
//
//   s_axis ─ skid ─ ingress ─┬─ enqueue ─ merge ─ payload store ─ dequeue ─┬─ output ─ m_axis
//                            └───────────────── bypass ────────────────────┘
//
// After reset the input, and a command, wait until the tables are empty: max(INDICES, SLOTS) cycles. From then
// on it takes one beat a cycle, but at least four cycles for each update, that is 256 bytes.
`default_nettype none
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
`include "olaf_geometry.vh"
module olaf_queue #(
    // Their meaning, bounds and defaults are those of olafctl/wire/geometry.py.
    parameter INDICES = `OLAF_INDICES_DEFAULT,              // indices tracked
    parameter SLOTS = `OLAF_SLOTS_DEFAULT,                  // updates the queue holds (Q_max)
    parameter BEATS = `OLAF_BEATS_DEFAULT,                  // 64-byte beats a slot holds
    parameter MEMBERS = `OLAF_MEMBERS_DEFAULT,              // members that an iSwitch round distinguishes
    parameter ADDER_LATENCY = `OLAF_ADDER_LATENCY_DEFAULT,  // cycles through an adder
    parameter BYPASS_BITS = 9                               // log2 of the bypass buffer's beats
) (
    input  wire         aclk,
    input  wire         aresetn,

    input  wire [`OLAF_BEAT_BITS-1:0] s_axis_tdata,
    input  wire [`OLAF_BEAT_BYTES-1:0] s_axis_tkeep,
    input  wire [`OLAF_TUSER_BITS-1:0] s_axis_tuser,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,

    output wire [`OLAF_BEAT_BITS-1:0] m_axis_tdata,
    output wire [`OLAF_BEAT_BYTES-1:0] m_axis_tkeep,
    output wire [`OLAF_TUSER_BITS-1:0] m_axis_tuser,
    output wire         m_axis_tlast,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,

    input  wire [11:0]  s_axil_awaddr,
    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire [31:0]  s_axil_wdata,
    input  wire [3:0]   s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    output wire [1:0]   s_axil_bresp,
    output wire         s_axil_bvalid,
    input  wire         s_axil_bready,
    input  wire [11:0]  s_axil_araddr,
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    output wire [31:0]  s_axil_rdata,
    output wire [1:0]   s_axil_rresp,
    output wire         s_axil_rvalid,
    input  wire         s_axil_rready
);
    generate
        if (INDICES < `OLAF_INDICES_LEAST || INDICES > `OLAF_INDICES_GREATEST) begin : check_indices
            INDICES_is_out_of_bounds see_olaf_geometry ();
        end
        if (SLOTS < `OLAF_SLOTS_LEAST || SLOTS > `OLAF_SLOTS_GREATEST) begin : check_slots
            SLOTS_is_out_of_bounds see_olaf_geometry ();
        end
        if (BEATS < `OLAF_BEATS_LEAST || BEATS > `OLAF_BEATS_GREATEST) begin : check_beats
            BEATS_is_out_of_bounds see_olaf_geometry ();
        end
        if (MEMBERS < `OLAF_MEMBERS_LEAST || MEMBERS > `OLAF_MEMBERS_GREATEST) begin : check_members
            MEMBERS_is_out_of_bounds see_olaf_geometry ();
        end
        if (ADDER_LATENCY < `OLAF_ADDER_LATENCY_LEAST || ADDER_LATENCY > `OLAF_ADDER_LATENCY_GREATEST) begin : check_adder_latency
            ADDER_LATENCY_is_out_of_bounds see_olaf_geometry ();
        end
    endgenerate

    localparam INDEX_BITS = INDICES > 1 ? $clog2(INDICES) : 1;
    localparam SLOT_BITS = SLOTS > 1 ? $clog2(SLOTS) : 1;
    localparam BUFFER_BITS = $clog2(SLOTS + 1);
    localparam BEAT_BITS = $clog2(BEATS);
    localparam DEPTH = (SLOTS + 1) * BEATS;
    localparam ADDR_BITS = $clog2(DEPTH);
    localparam ROW_BITS = 1 + SLOT_BITS + `OLAF_OLAF_SEQ_WIDTH + MEMBERS + `OLAF_OLAF_COUNT_WIDTH + 1
                        + `OLAF_OLAF_SEQ_WIDTH;
    localparam HALF = SLOTS > 1 ? SLOTS / 2 : 1;
    localparam CLEAR_STEPS = INDICES > SLOTS ? INDICES : SLOTS;
    localparam IN_BITS = `OLAF_BEAT_BITS + `OLAF_BEAT_BYTES + `OLAF_TUSER_BITS + 1;
    localparam LARGE = 8192;   // beats from which on UltraRAM takes less of the device than block RAM

    wire rst = !aresetn;

    // Empties the tables after reset, and after power-up.
    reg         clearing;
    reg  [15:0] clearing_step;
    reg         queue_rst /* verilator public_flat_rd */;
    initial begin
        clearing = 1'b1;
        clearing_step = 16'd0;
        queue_rst = 1'b1;
    end
    always @(posedge aclk)
        if (rst) begin
            clearing <= 1'b1;
            clearing_step <= 16'd0;
        end else if (clearing) begin
            clearing_step <= clearing_step + 16'd1;
            clearing <= {16'd0, clearing_step} != CLEAR_STEPS - 1;
        end
    always @(posedge aclk) queue_rst <= rst || clearing;

    // Settings.
    wire [31:0] rate, hold, active_window, accumulate_quota;
    wire [31:0] range_first, range_last, set_mode, set_threshold, set_reward_enable, set_reward_threshold;
    wire [31:0] set_stale_enable, set_stale_bound, stale_shifts_low, stale_shifts_high;
    wire [63:0] now;

    // Ingress.
    wire [IN_BITS-1:0] skid_beat;
    wire         skid_valid, skid_ready;
    wire [`OLAF_BEAT_BITS-1:0]  in_data;
    wire [`OLAF_BEAT_BYTES-1:0] in_keep;
    wire [`OLAF_TUSER_BITS-1:0] in_user;
    wire [`OLAF_LANES-1:0]      in_missing;
    wire         in_last, in_first, update_first;
    wire [`OLAF_FAULT_BITS-1:0] in_fault;
    wire         bypass_in_valid, bypass_in_ready, update_valid, update_ready;
    wire         ended, repaired, bad_frame, ingress_idle, enqueue_idle;
    wire [`OLAF_END_BITS-1:0]   ending;

    // The arriving update, and what is settled at its end.
    wire         arriving, old_headers, leaving, committed, known_sender, tracked;
    wire         after_locked, saturated, commit_replaceable;
    wire [`OLAF_DISPOSITION_BITS-1:0] disposition;
    wire [`OLAF_FAULT_BITS-1:0] fault;
    wire [SLOT_BITS-1:0]   at_slot, old_slot, free_slot, present_slot;
    wire [BUFFER_BITS+ADDR_BITS-1:0] at_buffer, old_buffer, free_buffer, first_buffer;
    wire [ADDR_BITS-1:0]   next_write;
    wire [BUFFER_BITS-1:0] next_spare;
    wire         patches;
    wire [`OLAF_PATCH_BITS-1:0] patch;
    wire [`OLAF_META_BITS-1:0] arriving_meta;
    wire [INDEX_BITS-1:0] look_index, commit_index;
    wire         present, replaceable;
    wire [`OLAF_TUSER_WORKER_WIDTH-1:0] replaceable_by;
    wire         appended;

    // Rounds and commands.
    wire [`OLAF_SETTINGS_BITS-1:0] settings, command_settings, new_settings, get_settings;
    wire [ROW_BITS-1:0]    row, commit_row, command_row, command_new_row;
    wire         accumulates, completes;
    wire         do_command, command_acts, command_busy, command_error, pause, set, command_set_row, release_sum, discard, forced;
    wire [7:0]   command_code;
    wire [INDEX_BITS-1:0]  command_index;
    wire [SLOT_BITS-1:0]   command_slot;
    wire         commanded /* verilator public_flat_rd */;
    wire [1:0]   get_state;
    wire [31:0]  get_round;
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0] get_count;
    wire [63:0]  get_members;

    // The newest versions of weights.
    wire [INDEX_BITS-1:0] fetched;
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] newest;
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH:0]   get_newest;
    wire         newest_known, learning, forget;
    wire         completed = committed && accumulates && completes;
    reg  [SLOT_BITS:0]     accumulating;
    reg          quota_reached;

    // The out list and the dequeue.
    wire [SLOT_BITS-1:0]   first, leaving_slot;
    wire [SLOT_BITS:0]     used /* verilator public_flat_rd */;
    wire         waiting /* verilator public_flat_rd */;
    wire [`OLAF_META_BITS-1:0] first_meta, leave_meta;
    wire         start_headers;
    wire         busy /* verilator public_flat_rd */;
    wire         start /* verilator public_flat_rd */;
    wire         depart /* verilator public_flat_rd */;
    wire         may_depart;
    wire         settled /* verilator public_flat_rd */;
    wire [BEAT_BITS:0]     readable;
    wire [BUFFER_BITS-1:0] leave_buffer;
    wire [ADDR_BITS-1:0]   leave_addr;
    wire         rate_allows, start_first, start_arriving, issue, issue_first, issue_last;

    // Payload.
    wire         beat_valid, beat_ready, beat_first;
    wire [`OLAF_LANES-1:0]     beat_missing;
    wire [`OLAF_BEAT_BITS-1:0] beat_data, write_data, merge_data, leave_data;
    wire         write, merge_read, open, opened, merge_idle;
    wire [ADDR_BITS-1:0] write_addr, merge_addr;
    wire [BEAT_BITS-1:0] write_beat;
    wire [1:0]   write_number, open_number;

    // Bypass and output.
    wire         bypass_valid, bypass_first, bypass_last, bypass_within, bypass_issue;
    wire         bypass_admits, bypass_accepted, bypass_dropped;
    wire [`OLAF_BEAT_BITS-1:0]  bypass_data;
    wire [`OLAF_BEAT_BYTES-1:0] bypass_keep;
    wire [`OLAF_TUSER_BITS-1:0] bypass_user;
    wire         output_free, output_idle, sent_update, sent_bypass;
    wire [15:0]  active_clusters /* verilator public_flat_rd */;

    assign settled = ended;

    // It is ready as soon as all else is: its reset ends a cycle before the others.
    wire skid_rst = rst || clearing;
    olaf_skid #(.WIDTH(IN_BITS)) skid (
        .clk(aclk), .rst(skid_rst),
        .s_data({s_axis_tlast, s_axis_tdata, s_axis_tkeep, s_axis_tuser}), .s_valid(s_axis_tvalid),
        .s_ready(s_axis_tready), .m_data(skid_beat), .m_valid(skid_valid), .m_ready(skid_ready)
    );

    olaf_ingress #(.INDICES(INDICES), .BEATS(BEATS)) ingress (
        .clk(aclk), .rst(queue_rst),
        .s_tdata(skid_beat[IN_BITS-2 -: `OLAF_BEAT_BITS]),
        .s_tkeep(skid_beat[`OLAF_TUSER_BITS +: `OLAF_BEAT_BYTES]),
        .s_tuser(skid_beat[0 +: `OLAF_TUSER_BITS]), .s_tlast(skid_beat[IN_BITS-1]),
        .s_tvalid(skid_valid), .s_tready(skid_ready),
        .data(in_data), .keep(in_keep), .user(in_user), .last(in_last), .first(in_first),
        .bypass_valid(bypass_in_valid), .bypass_ready(bypass_in_ready),
        .update_valid(update_valid), .update_ready(update_ready), .update_first(update_first),
        .missing(in_missing), .fault(in_fault), .pause(pause),
        .decided(arriving), .leaving(leaving),
        .ended(ended), .ending(ending), .repaired(repaired), .bad_frame(bad_frame),
        .idle(ingress_idle)
    );

    // The index table knows of updates that later ones may be combined with.
    wire table_append = appended && tracked;
    wire table_change = committed && tracked;
    wire table_depart = depart && leave_meta[`OLAF_META_TRACKED];
    olaf_index_table #(
        .INDICES(INDICES), .INDEX_BITS(INDEX_BITS), .SLOT_BITS(SLOT_BITS)
    ) index_table (
        .clk(aclk), .clearing(clearing), .clearing_index(clearing_step[INDEX_BITS-1:0]),
        .index(look_index), .present(present), .slot(present_slot),
        .replaceable(replaceable), .replaceable_by(replaceable_by),
        .append(table_append), .change(table_change), .changed(commit_index),
        .new_slot(at_slot), .new_replaceable(commit_replaceable),
        .new_worker(arriving_meta[`OLAF_META_WORKER]),
        .depart(table_depart),
        .departed(leave_meta[`OLAF_META_INDEX_LOW +: INDEX_BITS])
    );

    // A slot is given back by an update that departs, and by a command that discards a sum; never by both at once.
    wire give_slot = depart || discard;
    wire [SLOT_BITS-1:0] given_slot = discard ? command_slot : leaving_slot;
    olaf_free_list #(.SLOTS(SLOTS), .SLOT_BITS(SLOT_BITS)) free_list (
        .clk(aclk), .clearing(skid_rst), .clearing_step(clearing_step),
        .take(appended), .first(free_slot), .give(give_slot), .given(given_slot), .used(used)
    );

    // An update joins the out list at its end, unless it leaves already, and a sum when it is complete or released.
    wire list_append = (appended && !accumulates && !leaving && !start_arriving) || completed || release_sum;
    wire [SLOT_BITS-1:0] listed_slot = release_sum ? command_slot : at_slot;
    olaf_out_list #(.SLOTS(SLOTS), .SLOT_BITS(SLOT_BITS)) out_list (
        .clk(aclk), .rst(queue_rst),
        .append(list_append), .appended(listed_slot), .remove(start_first), .first(first), .waiting(waiting)
    );

    wire set_meta = committed && !old_headers;
    olaf_slots #(
        .SLOTS(SLOTS), .SLOT_BITS(SLOT_BITS), .BEATS(BEATS), .BUFFER_BITS(BUFFER_BITS), .ADDR_BITS(ADDR_BITS)
    ) slots (
        .clk(aclk), .clearing(clearing), .rst(rst), .clearing_step(clearing_step),
        .set_buffer(committed), .set_meta(set_meta), .set_slot(at_slot),
        .buffer(at_buffer), .meta(arriving_meta),
        .old_slot(old_slot), .old_buffer(old_buffer), .new_slot(free_slot), .new_buffer(free_buffer),
        .start_slot(first), .start_buffer(first_buffer), .start_meta(first_meta)
    );

    olaf_enqueue #(
        .SLOTS(SLOTS), .BEATS(BEATS), .INDEX_BITS(INDEX_BITS), .SLOT_BITS(SLOT_BITS),
        .BUFFER_BITS(BUFFER_BITS), .ADDR_BITS(ADDR_BITS), .MEMBERS(MEMBERS), .ROW_BITS(ROW_BITS)
    ) enqueue (
        .clk(aclk), .rst(queue_rst),
        .in_valid(update_valid), .in_ready(update_ready), .idle(enqueue_idle), .in_first(update_first),
        .in_missing(in_missing), .in_fault(in_fault), .in_data(in_data), .in_user(in_user),
        .ended(ended), .ending(ending),
        .index(look_index), .settings(settings), .row(row), .quota_reached(quota_reached),
        .shifts({stale_shifts_high, stale_shifts_low}),
        .fetched(fetched), .newest_known(newest_known), .newest(newest),
        .present(present), .present_slot(present_slot),
        .replaceable(replaceable), .replaceable_by(replaceable_by),
        .used(used), .free_slot(free_slot), .free_buffer(free_buffer),
        .old_slot(old_slot), .old_buffer(old_buffer),
        .busy(busy), .leaving_slot(leaving_slot), .start_first(start_first), .first(first),
        .start_arriving(start_arriving),
        .out_valid(beat_valid), .out_ready(beat_ready), .out_first(beat_first),
        .out_missing(beat_missing), .out_data(beat_data), .next_write(next_write),
        .arriving(arriving), .disposition(disposition), .at_slot(at_slot), .buffer(at_buffer),
        .old_headers(old_headers), .patches(patches), .patch(patch), .accumulates(accumulates),
        .next_spare(next_spare), .meta(arriving_meta), .leaving(leaving),
        .committed(committed), .known_sender(known_sender), .fault(fault),
        .tracked(tracked), .after_locked(after_locked), .saturated(saturated),
        .commit_index(commit_index), .commit_replaceable(commit_replaceable),
        .completes(completes), .commit_row(commit_row)
    );

    olaf_merge #(.LATENCY(ADDER_LATENCY), .ADDR_BITS(ADDR_BITS), .BEAT_BITS(BEAT_BITS)) merge (
        .clk(aclk), .rst(queue_rst),
        .in_valid(beat_valid), .in_ready(beat_ready), .in_first(beat_first), .in_missing(beat_missing),
        .in_data(beat_data),
        .disposition(disposition), .next_write(next_write),
        .next_waiting(old_buffer[ADDR_BITS-1:0]), .old_headers(old_headers),
        .patches(patches), .patch(patch),
        .read(merge_read), .read_addr(merge_addr), .read_data(merge_data),
        .write(write), .write_addr(write_addr), .write_data(write_data),
        .write_beat(write_beat), .write_number(write_number),
        .open(open), .opened(opened), .open_number(open_number), .idle(merge_idle)
    );

    olaf_payload_store #(
        .DEPTH(DEPTH), .ADDR_BITS(ADDR_BITS), .STYLE(DEPTH < LARGE ? "block" : "ultra")
    ) payload_store (
        .clk(aclk),
        .write(write), .write_addr(write_addr), .write_data(write_data),
        .merge_read(merge_read), .merge_addr(merge_addr), .merge_data(merge_data),
        .leave_read(issue), .leave_addr(leave_addr), .leave_data(leave_data)
    );

    olaf_filled #(.BUFFER_BITS(BUFFER_BITS), .BEAT_BITS(BEAT_BITS)) filled (
        .clk(aclk), .rst(queue_rst),
        .open(open), .opened(opened), .open_number(open_number),
        .open_buffer(at_buffer[ADDR_BITS +: BUFFER_BITS]),
        .write(write), .write_number(write_number), .write_beat(write_beat),
        .buffer(leave_buffer), .start(start), .start_arriving(start_arriving),
        .first_buffer(first_buffer[ADDR_BITS +: BUFFER_BITS]), .readable(readable)
    );

    olaf_rate_limiter rate_limiter (
        .clk(aclk), .rst(queue_rst), .rate(rate), .start(start), .allowed(rate_allows),
        .size(first_meta[`OLAF_META_SIZE]), .other_size(arriving_meta[`OLAF_META_SIZE]), .start_other(start_headers)
    );

    olaf_dequeue #(
        .SLOT_BITS(SLOT_BITS), .BUFFER_BITS(BUFFER_BITS), .ADDR_BITS(ADDR_BITS), .BEAT_BITS(BEAT_BITS)
    ) dequeue (
        .clk(aclk), .rst(queue_rst), .hold(hold[0]), .rate_allows(rate_allows), .output_free(output_free),
        .bypass_valid(bypass_valid), .bypass_within(bypass_within), .bypass_last(bypass_last),
        .bypass_issue(bypass_issue),
        .waiting(waiting), .first(first), .first_buffer(first_buffer), .first_meta(first_meta),
        .arriving(arriving), .leaving(leaving), .accumulates(accumulates), .bad_frame(bad_frame),
        .disposition(disposition),
        .at_slot(at_slot), .at_buffer(at_buffer), .old_headers(old_headers), .arriving_meta(arriving_meta),
        .start(start), .start_first(start_first), .start_arriving(start_arriving), .start_headers(start_headers),
        .busy(busy), .slot(leaving_slot),
        .buffer(leave_buffer), .readable(readable), .issue(issue), .address(leave_addr),
        .issue_first(issue_first), .issue_last(issue_last), .meta(leave_meta), .depart(depart),
        .may_depart(may_depart)
    );

    olaf_bypass #(.DEPTH_BITS(BYPASS_BITS)) bypass (
        .clk(aclk), .rst(queue_rst),
        .in_valid(bypass_in_valid), .in_ready(bypass_in_ready), .in_first(in_first), .in_last(in_last),
        .in_data(in_data), .in_keep(in_keep), .in_user(in_user),
        .admits(bypass_admits), .accepted(bypass_accepted), .dropped(bypass_dropped),
        .out_valid(bypass_valid), .out_first(bypass_first), .out_last(bypass_last),
        .out_read(bypass_issue), .out_data(bypass_data), .out_keep(bypass_keep), .out_user(bypass_user),
        .mid(bypass_within)
    );

    olaf_output #(.SLOTS(SLOTS), .SLOT_BITS(SLOT_BITS)) out (
        .clk(aclk), .rst(queue_rst), .free(output_free),
        .update_issue(issue), .update_first(issue_first), .update_last(issue_last),
        .update_meta(leave_meta), .update_data(leave_data),
        .bypass_issue(bypass_issue), .bypass_first(bypass_first), .bypass_last(bypass_last),
        .bypass_data(bypass_data), .bypass_keep(bypass_keep), .bypass_user(bypass_user),
        .occupancy(used), .active_clusters(active_clusters),
        .m_tdata(m_axis_tdata), .m_tkeep(m_axis_tkeep), .m_tuser(m_axis_tuser), .m_tlast(m_axis_tlast),
        .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready),
        .sent_update(sent_update), .sent_bypass(sent_bypass), .idle(output_idle)
    );

    olaf_activity #(.INDICES(INDICES), .INDEX_BITS(INDEX_BITS)) activity (
        .clk(aclk), .rst(queue_rst), .clearing(clearing), .clearing_index(clearing_step[INDEX_BITS-1:0]),
        .now(now[31:0]), .window(active_window),
        .mark(known_sender), .index(commit_index), .active_clusters(active_clusters)
    );

    // An ACK that passes: which is one, VNP4₁ decides; here it has an index that exists, and its headers are whole.
    wire acknowledges = bypass_admits && in_user[`OLAF_TUSER_KIND] == `OLAF_KIND_ACK
                     && {16'd0, in_user[`OLAF_TUSER_INDEX]} < INDICES && &in_keep;
    wire judges = known_sender && disposition != `OLAF_DROP_HALTED;
    wire was_stale = disposition == `OLAF_DROP_STALE;
    olaf_newest #(.INDEX_BITS(INDEX_BITS)) newest_table (
        .clk(aclk), .rst(queue_rst), .clearing(clearing), .clearing_index(clearing_step[INDEX_BITS-1:0]),
        .acknowledge(acknowledges),
        .acknowledged(in_user[`OLAF_TUSER_INDEX_LOW +: INDEX_BITS]), .version(`OLAF_OLAF_WEIGHTS_VERSION_VALUE(in_data)),
        .judge(judges), .judged(commit_index), .stale(was_stale), .learning(learning),
        .command(command_acts), .command_index(command_index), .forget(forget),
        .index(fetched), .known(newest_known), .newest(newest)
    );

    olaf_settings #(.INDEX_BITS(INDEX_BITS)) settings_table (
        .clk(aclk), .clearing(clearing), .clearing_index(clearing_step[INDEX_BITS-1:0]),
        .set(set), .new_settings(new_settings),
        .command_index(command_index), .command_settings(command_settings),
        .index(look_index), .settings(settings)
    );

    wire set_row = committed && accumulates;
    olaf_accumulate #(
        .INDEX_BITS(INDEX_BITS), .SLOT_BITS(SLOT_BITS), .MEMBERS(MEMBERS), .ROW_BITS(ROW_BITS)
    ) accumulate (
        .clk(aclk), .clearing(clearing), .clearing_index(clearing_step[INDEX_BITS-1:0]),
        .index(look_index), .row(row),
        .set(set_row), .set_index(commit_index), .new_row(commit_row),
        .command_index(command_index), .command_row(command_row),
        .command_set(command_set_row), .command_new_row(command_new_row)
    );

    wire input_rests = enqueue_idle && !queue_rst;
    olaf_command #(
        .INDICES(INDICES), .INDEX_BITS(INDEX_BITS), .SLOT_BITS(SLOT_BITS), .MEMBERS(MEMBERS), .ROW_BITS(ROW_BITS)
    ) commands (
        .clk(aclk), .rst(rst),
        .request(do_command), .code(command_code), .range_first(range_first), .range_last(range_last),
        .set_mode(set_mode), .set_threshold(set_threshold), .set_reward_enable(set_reward_enable[0]),
        .set_reward_threshold(set_reward_threshold), .set_stale_enable(set_stale_enable[0]),
        .set_stale_bound(set_stale_bound), .busy(command_busy), .error(command_error),
        .pause(pause), .quiet(input_rests), .index(command_index),
        .settings(command_settings), .set(set), .new_settings(new_settings),
        .row(command_row), .set_row(command_set_row), .new_row(command_new_row),
        .may_depart(may_depart), .learning(learning), .release_sum(release_sum), .discard(discard), .forced(forced),
        .slot(command_slot), .acts(command_acts), .applied(commanded), .forget(forget),
        .get_settings(get_settings), .get_state(get_state), .get_round(get_round), .get_count(get_count),
        .get_members(get_members), .newest({newest_known, newest}), .get_newest(get_newest)
    );

    // Slots that accumulate, and whether they are as many as may.
    always @(posedge aclk)
        if (queue_rst) begin
            accumulating <= {(SLOT_BITS + 1){1'b0}};
            quota_reached <= 1'b0;
        end else begin
            accumulating <= accumulating + {{SLOT_BITS{1'b0}}, appended && accumulates}
                          - {{SLOT_BITS{1'b0}}, completed || release_sum || discard};
            quota_reached <= {{(31 - SLOT_BITS){1'b0}}, accumulating} >= accumulate_quota;
        end

    wire merged, replaced_worker, replaced_reward, superseded;
    wire dropped_full, dropped_reward, dropped_mismatch, dropped_halted, dropped_stale, dropped_member;
    wire dropped_duplicate, dropped_late, dropped_quota, dropped_truncated, dropped_overlong;
    wire dropped_header, dropped_length, dropped_oversize, dropped_index;
    olaf_outcome outcome (
        .ended(ended), .ending(ending), .disposition(disposition), .fault(fault),
        .appended(appended), .merged(merged), .replaced_worker(replaced_worker), .replaced_reward(replaced_reward),
        .superseded(superseded),
        .dropped_full(dropped_full), .dropped_reward(dropped_reward), .dropped_mismatch(dropped_mismatch),
        .dropped_halted(dropped_halted), .dropped_stale(dropped_stale), .dropped_member(dropped_member),
        .dropped_duplicate(dropped_duplicate), .dropped_late(dropped_late), .dropped_quota(dropped_quota),
        .dropped_truncated(dropped_truncated), .dropped_overlong(dropped_overlong),
        .dropped_header(dropped_header), .dropped_length(dropped_length), .dropped_oversize(dropped_oversize),
        .dropped_index(dropped_index)
    );
    wire in_bypass = bypass_accepted || bypass_dropped;
    wire locked_append = appended && after_locked;
    wire saturation = committed && saturated;
    wire input_stall = !queue_rst && s_axis_tvalid && !s_axis_tready;
    wire input_beat = s_axis_tvalid && s_axis_tready;
    wire output_beat = m_axis_tvalid && m_axis_tready;

    olaf_registers #(
        .INDICES(INDICES), .SLOTS(SLOTS), .BEATS(BEATS), .ADDER_LATENCY(ADDER_LATENCY), .MEMBERS(MEMBERS),
        .ACCUMULATE_QUOTA(HALF)
    ) registers (
        .clk(aclk), .rst(rst), .queue_rst(queue_rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .rate(rate), .hold(hold), .active_window(active_window), .accumulate_quota(accumulate_quota),
        .range_first(range_first), .range_last(range_last), .set_mode(set_mode), .set_threshold(set_threshold),
        .set_reward_enable(set_reward_enable), .set_reward_threshold(set_reward_threshold),
        .set_stale_enable(set_stale_enable), .set_stale_bound(set_stale_bound),
        .stale_shifts_low(stale_shifts_low), .stale_shifts_high(stale_shifts_high),
        .do_command(do_command), .command(command_code),
        .command_busy({31'd0, command_busy}), .command_error({31'd0, command_error}),
        .get_mode({23'd0, get_settings[`OLAF_SETTINGS_HALTED_LOW],
                   {(8 - `OLAF_SETTINGS_MODE_WIDTH){1'b0}}, get_settings[`OLAF_SETTINGS_MODE]}),
        .get_threshold({16'd0, get_settings[`OLAF_SETTINGS_THRESHOLD]}),
        .get_reward_enable({31'd0, get_settings[`OLAF_SETTINGS_REWARD_ENABLE_LOW]}),
        .get_reward_threshold(get_settings[`OLAF_SETTINGS_REWARD_THRESHOLD]),
        .get_stale_enable({31'd0, get_settings[`OLAF_SETTINGS_STALE_ENABLE_LOW]}),
        .get_stale_bound({16'd0, get_settings[`OLAF_SETTINGS_STALE_BOUND]}), .get_newest({15'd0, get_newest}),
        .get_state({30'd0, get_state}), .get_round(get_round), .get_count({16'd0, get_count}),
        .get_members_low(get_members[31:0]), .get_members_high(get_members[63:32]),
        .occupancy({{(31 - SLOT_BITS){1'b0}}, used}), .active_clusters({16'd0, active_clusters}),
        .accumulating({{(31 - SLOT_BITS){1'b0}}, accumulating}),
        .bypass_accepted(bypass_accepted),
        .inc_in_updates(ended),
        .inc_out_updates(sent_update),
        .inc_in_bypass(in_bypass),
        .inc_out_bypass(sent_bypass),
        .inc_appended(appended),
        .inc_merged(merged),
        .inc_replaced_worker(replaced_worker),
        .inc_replaced_reward(replaced_reward),
        .inc_dropped_full(dropped_full),
        .inc_dropped_reward(dropped_reward),
        .inc_dropped_mismatch(dropped_mismatch),
        .inc_dropped_header(dropped_header),
        .inc_dropped_length(dropped_length),
        .inc_dropped_oversize(dropped_oversize),
        .inc_dropped_index(dropped_index),
        .inc_dropped_halted(dropped_halted),
        .inc_dropped_stale(dropped_stale),
        .inc_dropped_member(dropped_member),
        .inc_dropped_duplicate(dropped_duplicate),
        .inc_dropped_late(dropped_late),
        .inc_dropped_quota(dropped_quota),
        .inc_dropped_superseded(superseded),
        .inc_dropped_reset(discard),
        .inc_forced(forced),
        .inc_dropped_truncated(dropped_truncated),
        .inc_dropped_overlong(dropped_overlong),
        .inc_dropped_bypass(bypass_dropped),
        .inc_locked_appends(locked_append),
        .inc_saturations(saturation),
        .inc_cut_through(start_arriving),
        .inc_repaired(repaired),
        .inc_input_stalls(input_stall),
        .inc_input_beats(input_beat),
        .inc_output_beats(output_beat),
        .now(now)
    );

    // Nothing moves, and nothing will unless a beat arrives or an update may begin to leave.
    wire still /* verilator public_flat_rd */;
    assign still = s_axis_tready && ingress_idle && enqueue_idle && merge_idle && output_idle && !busy
                && !bypass_valid && !command_busy;
    wire unused = &{1'b0, still, now, set_reward_enable[31:1], set_stale_enable[31:1], hold[31:1], settled, commanded};

    olaf_queue_checks #(
        .SLOTS(SLOTS), .AXIS_BITS(IN_BITS), .SLOT_BITS(SLOT_BITS), .BUFFER_BITS(BUFFER_BITS)
    ) checks (
        .clk(aclk), .rst(queue_rst),
        .m_axis({m_axis_tlast, m_axis_tdata, m_axis_tkeep, m_axis_tuser}),
        .m_valid(m_axis_tvalid), .m_ready(m_axis_tready),
        .committed(committed), .appended(appended), .leaving(leaving), .at_slot(at_slot),
        .buffer(at_buffer[ADDR_BITS +: BUFFER_BITS]),
        .next_spare(next_spare),
        .index(arriving_meta[`OLAF_META_INDEX]), .tracked(tracked),
        .accumulates(accumulates), .completes(completes), .release_sum(release_sum), .discard(discard),
        .command_slot(command_slot),
        .start_first(start_first), .start_arriving(start_arriving), .first(first),
        .depart(depart), .departed(leaving_slot), .used(used)
    );
endmodule
`default_nettype wire
