// Where updates leave: locks the head, reads it beat by beat, and gives its buffer back.
//
// The next update may begin in the cycle in which the last beat of the one before is read. The head may
// be the arriving update, or have an arriving one merging with it; then it leaves from the buffer that
// is being written, as fast as it is written.
`default_nettype none
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
module olaf_dequeue #(
    parameter BUFFER_BITS = 4,
    parameter PLACE_BITS = 3,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    hold,
    input  wire                    rate_allows,
    input  wire                    output_free,    // a beat may be issued
    input  wire                    bypass_first,   // other traffic has, or wants, the output

    input  wire [PLACE_BITS:0]     count,
    input  wire [PLACE_BITS-1:0]   head,
    input  wire [PLACE_BITS-1:0]   after_head,
    input  wire [BUFFER_BITS-1:0] start_buffer,  // what the out list says of `start_place`
    input  wire [`OLAF_META_BITS-1:0] start_meta,

    input  wire                    arriving,
    input  wire                    bad_frame,
    input  wire [`OLAF_DISPOSITION_BITS-1:0] disposition,
    input  wire [PLACE_BITS-1:0]   at_place,
    input  wire [BUFFER_BITS-1:0] at_buffer,
    input  wire                    old_headers,
    input  wire [`OLAF_META_BITS-1:0] arriving_meta,

    output wire                    start,
    output wire [BUFFER_BITS-1:0] from_buffer,   // with start
    output wire [PLACE_BITS-1:0]   start_place,
    output wire [15:0]             start_size,
    output wire                    cut_through,    // with start: before it has arrived to its end
    output reg                     busy,

    output reg  [BUFFER_BITS-1:0] buffer,
    output reg  [BEAT_BITS-1:0]    beat,
    input  wire [BEAT_BITS:0]      readable,       // beats of `buffer` that can be read
    output wire                    issue,          // `beat` of `buffer` is read now
    output wire                    issue_first,
    output wire                    issue_last,
    output reg  [`OLAF_META_BITS-1:0] meta,
    output wire                    depart          // the head has left the queue
);
    reg [BEAT_BITS-1:0] last_beat;

    assign issue = busy && {1'b0, beat} < readable && output_free;
    assign issue_first = beat == 0;
    assign issue_last = beat == last_beat;
    assign depart = issue && issue_last;

    assign start_place = busy ? after_head : head;
    wire here = busy ? count > 1 : count != 0;
    wire coming = arriving && !disposition[`OLAF_IS_DROP] && at_place == start_place;
    wire opens = disposition == `OLAF_APPEND;
    // An appended update is at the head when none is before it; it is not on the list before its end.
    wire heads = coming && (here || (opens && (busy ? count == 1 : count == 0)));

    assign start = output_free && (!busy || depart) && !bypass_first && !hold && rate_allows
                && (heads ? !bad_frame : here);
    assign cut_through = start && heads;
    assign from_buffer = heads ? at_buffer : start_buffer;

    wire [`OLAF_META_BITS-1:0] next_meta = heads && !old_headers ? arriving_meta : start_meta;
    assign start_size = next_meta[`OLAF_META_SIZE];
    wire [15:0] size_less_one = start_size - 16'd1;

    always @(posedge clk)
        if (rst) busy <= 1'b0;
        else if (start) busy <= 1'b1;
        else if (depart) busy <= 1'b0;

    always @(posedge clk)
        if (start) begin
            buffer <= from_buffer;
            meta <= next_meta;
            beat <= {BEAT_BITS{1'b0}};
            last_beat <= size_less_one[6 +: BEAT_BITS];
        end else if (issue) beat <= beat + 1'b1;

    wire unused = &{1'b0, size_less_one};
endmodule
`default_nettype wire
