// Where updates leave: takes the first of the out list, reads it beat by beat, and gives its slot back.
//
// The next update may begin in the cycle in which the last beat of the one before is read. The first may
// be the arriving update, or have an arriving one merging with it; then it leaves from the buffer that
// is being written, as fast as it is written. When other traffic waits too, the two alternate frame by
// frame, so that neither waits for more than one frame of the other.
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_dequeue #(
    parameter SLOT_BITS = 3,
    parameter BUFFER_BITS = 4,
    parameter ADDR_BITS = 8,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    hold,
    input  wire                    rate_allows,
    input  wire                    output_free,    // a beat may be issued

    // Other traffic.
    input  wire                    bypass_valid,   // a beat of it waits
    input  wire                    bypass_within,  // it is in the middle of a frame
    input  wire                    bypass_last,    // the beat that waits ends a frame
    output wire                    bypass_issue,   // it is read now

    input  wire                    waiting,        // the out list has a first
    input  wire [SLOT_BITS-1:0]    first,
    input  wire [BUFFER_BITS+ADDR_BITS-1:0] first_buffer,
    input  wire [`OLAF_META_BITS-1:0] first_meta,

    input  wire                    arriving,
    input  wire                    leaving,        // it is being sent already
    input  wire                    accumulates,    // it waits until its round is complete
    input  wire                    bad_frame,
    input  wire [`OLAF_DISPOSITION_BITS-1:0] disposition,
    input  wire [SLOT_BITS-1:0]    at_slot,
    input  wire [BUFFER_BITS+ADDR_BITS-1:0] at_buffer,
    input  wire                    old_headers,
    input  wire [`OLAF_META_BITS-1:0] arriving_meta,

    output wire                    start,
    output wire                    start_first,    // with start: the first of the out list
    output wire                    start_arriving, // with start: the arriving update, or one it joins
    output wire                    start_headers,  // with start: the headers are the arriving update's
    output reg                     busy,           // an update is leaving
    output reg  [SLOT_BITS-1:0]    slot,           // where it is

    output reg  [BUFFER_BITS-1:0]  buffer,         // that is read
    input  wire [BEAT_BITS:0]      readable,       // beats of the buffer that can be read
    output wire                    issue,          // a beat is read now
    output reg  [ADDR_BITS-1:0]    address,        // from here
    output wire                    issue_first,
    output wire                    issue_last,
    output reg  [`OLAF_META_BITS-1:0] meta,
    output wire                    depart,         // the update has left the queue
    output wire                    may_depart      // it does, if its last beat can be read
);
    reg [BEAT_BITS-1:0]   beat, last_beat;
    reg                   updates_turn;

    assign issue = busy && {1'b0, beat} < readable && output_free;
    assign issue_first = beat == 0;
    assign issue_last = beat == last_beat;
    assign depart = issue && issue_last;
    assign may_depart = busy && issue_last && output_free;

    // An appended update is first when none waits before it; it is not on the list before its end.
    wire appends = disposition == `OLAF_APPEND;
    wire joins = arriving && !leaving && !accumulates && !disposition[`OLAF_IS_DROP]
              && (appends ? !waiting : waiting && at_slot == first);
    wire ready = (!busy || depart) && !hold && rate_allows && (joins ? !bad_frame : waiting);

    assign start = output_free && ready && !bypass_within && (!bypass_valid || updates_turn);
    assign start_arriving = start && joins;
    assign start_first = start && !(joins && appends);
    assign bypass_issue = output_free && bypass_valid
                       && (bypass_within || (!busy && !(ready && updates_turn)));

    wire [BUFFER_BITS+ADDR_BITS-1:0] from_buffer = joins ? at_buffer : first_buffer;
    assign start_headers = joins && !old_headers;
    wire [`OLAF_META_BITS-1:0] from_meta = start_headers ? arriving_meta : first_meta;
    wire [15:0] first_less_one = first_meta[`OLAF_META_SIZE] - 16'd1;
    wire [15:0] arriving_less_one = arriving_meta[`OLAF_META_SIZE] - 16'd1;

    always @(posedge clk)
        if (rst) begin
            busy <= 1'b0;
            updates_turn <= 1'b0;
        end else begin
            if (start) busy <= 1'b1;
            else if (depart) busy <= 1'b0;
            if (start) updates_turn <= 1'b0;
            else if (bypass_issue && bypass_last) updates_turn <= 1'b1;
        end

    always @(posedge clk)
        if (start) begin
            slot <= joins ? at_slot : first;
            buffer <= from_buffer[ADDR_BITS +: BUFFER_BITS];
            address <= from_buffer[ADDR_BITS-1:0];
            meta <= from_meta;
            beat <= {BEAT_BITS{1'b0}};
            last_beat <= start_headers ? arriving_less_one[6 +: BEAT_BITS] : first_less_one[6 +: BEAT_BITS];
        end else if (issue) begin
            address <= address + 1'b1;
            beat <= beat + 1'b1;
        end

    wire unused = &{1'b0, first_less_one, arriving_less_one};
endmodule
`default_nettype wire
