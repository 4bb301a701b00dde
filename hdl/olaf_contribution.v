// An update as a contribution to its index' round (iSwitch §3) or numbered sum (§4): how it compares with what
// accumulates, with what is finished and with what its member contributed, and the row of olaf_accumulate that
// follows.
`include "olaf_layout.vh"
`default_nettype none
module olaf_contribution #(
    parameter INDEX_BITS = 4,
    parameter SLOT_BITS = 3,
    parameter MEMBERS = 32,
    parameter ROW_BITS = 1   // of olaf_accumulate
) (
    input  wire                  clk,

    input  wire                  look,         // its index' row is looked up,
    input  wire [INDEX_BITS-1:0] index,
    input  wire [`OLAF_TUSER_MEMBER_WIDTH-1:0] member,
    input  wire [ROW_BITS-1:0]   row,

    input  wire                  fetch,        // and compared with its number, of a round or its member's own
    input  wire [`OLAF_TUSER_MEMBER_WIDTH-1:0] fetch_member,
    input  wire [`OLAF_OLAF_SEQ_WIDTH-1:0] number,

    // From the next cycle on.
    output reg                   accumulates,  // the index does
    output reg                   same_round,   // which is the update's,
    output reg                   older_round,  // or newer than the update's
    output reg                   counted,      // its member is in the sum already, or was in any
    output reg                   finished,     // its round is not newer than the one finished last
    output reg                   member_known,
    output wire                  taken,        // its number was taken already,
    output wire                  before_window, // or is older than the window

    // It is decided.
    input  wire                  decide,
    input  wire                  merging,
    input  wire                  numbered,     // its index numbers its results
    input  wire [`OLAF_OLAF_SEQ_WIDTH-1:0] own_round,
    input  wire                  sums,
    input  wire                  enough,       // worker updates are in for a result
    output reg                   completes,    // the sum
    output reg  [`OLAF_OLAF_SEQ_WIDTH-1:0] round,

    // It is settled.
    input  wire                  take,         // as a good one with its member's own number
    input  wire [SLOT_BITS-1:0]  slot,
    input  wire [`OLAF_OLAF_COUNT_WIDTH-1:0] count,
    output wire [ROW_BITS-1:0]   new_row
);
    localparam MEMBER_BITS = MEMBERS > 1 ? $clog2(MEMBERS) : 1;
    localparam ROUND_BITS = `OLAF_OLAF_SEQ_WIDTH;

    // Looked up.
    reg  [ROW_BITS-1:0] f_row;
    always @(posedge clk) if (look) f_row <= row;

    wire                  f_accumulates, f_finished;
    wire [SLOT_BITS-1:0]  f_slot;
    wire [ROUND_BITS-1:0] f_round, f_finished_round;
    wire [MEMBERS-1:0]    f_members;
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0] f_count;
    assign {f_accumulates, f_slot, f_round, f_members, f_count, f_finished, f_finished_round} = f_row;

    // Compared.
    wire [ROUND_BITS-1:0] after_round = number - f_round;
    wire [ROUND_BITS-1:0] after_finished = number - f_finished_round;
    wire [MEMBERS-1:0]    f_member = {{(MEMBERS - 1){1'b0}}, 1'b1} << fetch_member;
    reg  [MEMBERS-1:0]    d_others, d_member;
    reg                   d_was_finished;
    reg  [ROUND_BITS-1:0] d_finished_round;
    always @(posedge clk)
        if (fetch) begin
            accumulates <= f_accumulates;
            same_round <= after_round == 0;
            older_round <= after_round[ROUND_BITS-1];
            counted <= |(f_members & f_member);
            finished <= f_finished && (after_finished == 0 || after_finished[ROUND_BITS-1]);
            member_known <= {24'd0, fetch_member} < MEMBERS;
            d_others <= f_members;
            d_member <= f_member;
            d_was_finished <= f_finished;
            d_finished_round <= f_finished_round;
        end

    olaf_windows #(.INDEX_BITS(INDEX_BITS), .MEMBER_BITS(MEMBER_BITS)) windows (
        .clk(clk), .look(look), .index(index), .member(member[MEMBER_BITS-1:0]),
        .compare(fetch), .number(number), .taken(taken), .before_window(before_window), .take(take), .known(counted)
    );

    // Decided.
    reg  [MEMBERS-1:0]    members;
    reg                   was_finished;
    reg  [ROUND_BITS-1:0] finished_round;
    always @(posedge clk)
        if (decide) begin
            completes <= sums && enough;
            members <= merging || numbered ? d_others | d_member : d_member;
            round <= numbered ? d_finished_round + 1'b1 : own_round;
            was_finished <= d_was_finished;
            finished_round <= d_finished_round;
        end

    assign new_row = {!completes, slot, round, members, count, completes || was_finished,
                      completes ? round : finished_round};

    wire unused = &{1'b0, member, f_slot, f_count};
endmodule
`default_nettype wire
