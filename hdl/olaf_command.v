// Commands from the registers, applied to a range of indices, one index at a time.
//
// For each index the input is paused between two updates, so that no decision is under way. Between two
// indices the input runs for a while, so that a long range never stops the traffic.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_command #(
    parameter INDICES = 16,
    parameter INDEX_BITS = 4,
    parameter SLOT_BITS = 3,
    parameter MEMBERS = 32,
    parameter ROW_BITS = 1  // of olaf_accumulate
) (
    input  wire                  clk,
    input  wire                  rst,

    // The registers.
    input  wire                  request,
    input  wire [7:0]            code,
    input  wire [31:0]           range_first,
    input  wire [31:0]           range_last,
    input  wire [31:0]           set_mode,
    input  wire [31:0]           set_threshold,
    input  wire                  set_reward_enable,
    input  wire [31:0]           set_reward_threshold,
    input  wire                  set_stale_enable,
    input  wire [31:0]           set_stale_bound,
    output wire                  busy,
    output reg                   error,

    output reg                   pause,      // no update may come to be decided
    input  wire                  quiet,      // and none is under way, and the tables are not being cleared
    output reg  [INDEX_BITS-1:0] index,

    input  wire [`OLAF_SETTINGS_BITS-1:0] settings,      // of `index`
    output wire                  set,
    output reg  [`OLAF_SETTINGS_BITS-1:0] new_settings,
    input  wire [ROW_BITS-1:0]   row,
    output wire                  set_row,
    output wire [ROW_BITS-1:0]   new_row,

    input  wire                  may_depart, // a slot is perhaps given back by another; depart itself would come too late
    input  wire                  learning,   // of a version, from a frame: what is known of it changes
    output wire                  release_sum, // the sum in `slot` joins the out list
    output wire                  discard,    // the sum in `slot` is dropped
    output wire                  forced,
    output reg  [SLOT_BITS-1:0]  slot,
    output wire                  acts,       // on `index`, as soon as it may
    output wire                  applied,    // to `index`
    output wire                  forget,     // the newest version of its weights

    // What was read of an index.
    output reg  [`OLAF_SETTINGS_BITS-1:0] get_settings,
    output reg  [1:0]            get_state,
    output reg  [31:0]           get_round,
    output reg  [`OLAF_OLAF_COUNT_WIDTH-1:0] get_count,
    output reg  [63:0]           get_members,
    input  wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH:0] newest,     // version of `index`, and first whether it is known
    output reg  [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH:0] get_newest
);
    localparam [2:0] IDLE = 3'd0, PAUSE = 3'd1, WEIGH = 3'd2, ACT = 3'd3, GAP = 3'd4;
    localparam COUNT_BITS = `OLAF_OLAF_COUNT_WIDTH;
    localparam ROUND_BITS = `OLAF_OLAF_SEQ_WIDTH;

    reg [2:0]            state;
    reg [2:0]            code_at_work;    // a command that is known has no other bits
    reg [INDEX_BITS-1:0] last;
    reg [3:0]            gap;

    wire known = code == `OLAF_COMMAND_SET || code == `OLAF_COMMAND_FBCAST || code == `OLAF_COMMAND_RESET
              || code == `OLAF_COMMAND_GET;
    wire in_range = range_first < INDICES
               && (code == `OLAF_COMMAND_GET || (range_last < INDICES && range_first <= range_last));
    wire sound = code != `OLAF_COMMAND_SET
              || (set_mode[7:0] <= {{(8 - `OLAF_SETTINGS_MODE_WIDTH){1'b0}}, `OLAF_MODE_GREATEST}
                  && set_mode[31:9] == 23'd0
                  && set_threshold != 32'd0 && ~|set_threshold[31:COUNT_BITS]
                  && ~|set_stale_bound[31:`OLAF_SETTINGS_STALE_BOUND_WIDTH]);
    wire [7:0] command = {5'd0, code_at_work};
    reg  accepted;
    always @* begin
        accepted = 1'b0;
        if (request && state == IDLE) accepted = known && in_range && sound;
    end
    assign busy = state != IDLE;

    // The row of the index at work, as it was when the input became idle.
    reg                  accumulates, finished;
    reg [ROUND_BITS-1:0] round, finished_round;
    reg [MEMBERS-1:0]    members;
    reg [COUNT_BITS-1:0] count;

    wire [MEMBERS+63:0] padded = {64'd0, members};

    assign acts = state == ACT;
    // What the command does to it, known a cycle before it acts.
    reg releases, discards, forgets;
    wire sets = command == `OLAF_COMMAND_SET;
    wire other_mode = sets && settings[`OLAF_SETTINGS_MODE] != new_settings[`OLAF_SETTINGS_MODE];
    wire reached = !new_settings[`OLAF_SETTINGS_HALTED] && count >= new_settings[`OLAF_SETTINGS_THRESHOLD];
    assign applied = acts && !(discards && may_depart) && !learning;
    assign set = applied && sets;
    assign release_sum = applied && releases;
    assign discard = applied && discards;
    assign forced = release_sum && command == `OLAF_COMMAND_FBCAST;
    assign forget = applied && (sets || forgets);
    assign set_row = applied && (releases || discards || forgets);
    assign new_row = {1'b0, slot, round, {MEMBERS{!forgets}} & members, count,
                      !forgets && (releases || finished), {ROUND_BITS{!forgets}} & (releases ? round : finished_round)};

    always @(posedge clk)
        if (rst) begin
            state <= IDLE;
            pause <= 1'b0;
            error <= 1'b0;
        end else begin
            if (request) error <= !accepted;
            case (state)
                IDLE: if (accepted) begin
                    state <= PAUSE;
                    pause <= 1'b1;
                end
                PAUSE: if (pause && quiet) state <= WEIGH;
                WEIGH: state <= ACT;
                ACT: if (applied) begin
                    state <= index == last ? IDLE : GAP;
                    pause <= 1'b0;
                end
                default: if (&gap) begin
                    state <= PAUSE;
                    pause <= 1'b1;
                end
            endcase
        end

    wire unused = &{1'b0, padded};

    always @(posedge clk) begin
        if (accepted) begin
            code_at_work <= code[2:0];
            index <= range_first[INDEX_BITS-1:0];
            last <= code == `OLAF_COMMAND_GET ? range_first[INDEX_BITS-1:0] : range_last[INDEX_BITS-1:0];
            new_settings[`OLAF_SETTINGS_MODE] <= set_mode[`OLAF_SETTINGS_MODE_WIDTH-1:0];
            new_settings[`OLAF_SETTINGS_HALTED] <= set_mode[8];
            new_settings[`OLAF_SETTINGS_THRESHOLD] <= set_threshold[COUNT_BITS-1:0];
            new_settings[`OLAF_SETTINGS_REWARD_ENABLE] <= set_reward_enable;
            new_settings[`OLAF_SETTINGS_REWARD_THRESHOLD] <= set_reward_threshold;
            new_settings[`OLAF_SETTINGS_STALE_ENABLE] <= set_stale_enable;
            new_settings[`OLAF_SETTINGS_STALE_BOUND] <= set_stale_bound[`OLAF_SETTINGS_STALE_BOUND_WIDTH-1:0];
        end else if (state == GAP && &gap) index <= index + 1'b1;
        if (state == PAUSE) {accumulates, slot, round, members, count, finished, finished_round} <= row;
        releases <= accumulates && (command == `OLAF_COMMAND_FBCAST || (sets && !other_mode && reached));
        discards <= accumulates && (command == `OLAF_COMMAND_RESET || other_mode);
        forgets <= command == `OLAF_COMMAND_RESET || other_mode;
        gap <= state == GAP ? gap + 4'd1 : 4'd0;
        if (applied && command == `OLAF_COMMAND_GET) begin
            get_settings <= settings;
            get_newest <= newest & {(`OLAF_OLAF_WEIGHTS_VERSION_WIDTH + 1){newest[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH]}};
            get_state <= {finished, accumulates};
            get_round <= accumulates && settings[`OLAF_SETTINGS_MODE] != `OLAF_MODE_ISWITCH_ASYNC ? round : finished_round;
            get_count <= accumulates ? count : {COUNT_BITS{1'b0}};
            get_members <= accumulates ? padded[63:0] : 64'd0;
        end
    end
endmodule
`default_nettype wire
