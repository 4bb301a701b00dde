// How much of each segment has been written: an update may leave as fast as it arrives, never faster.
module olaf_filled #(
    parameter SEGMENTS = 9,
    parameter SEGMENT_BITS = 4,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    opening,      // a segment is about to be written anew
    input  wire                    opened,       // and its first beat is written now
    input  wire [SEGMENT_BITS-1:0] opening_segment,
    input  wire                    write,
    input  wire [SEGMENT_BITS-1:0] write_segment,
    input  wire [BEAT_BITS-1:0]    write_beat,
    input  wire [SEGMENT_BITS-1:0] segment,
    input  wire [BEAT_BITS-1:0]    beat,
    output wire                    readable
);
    reg [BEAT_BITS:0] beats_of [0:(1<<SEGMENT_BITS)-1];

    // A segment can be opened anew while its last beat of the time before is just being written.
    integer each;
    always @(posedge clk)
        for (each = 0; each < SEGMENTS; each = each + 1)
            if (opening && opening_segment == each[SEGMENT_BITS-1:0]) beats_of[each] <= {{BEAT_BITS{1'b0}}, opened};
            else if (write && write_segment == each[SEGMENT_BITS-1:0]) beats_of[each] <= {1'b0, write_beat} + 1'b1;

    assign readable = {1'b0, beat} < beats_of[segment];
endmodule
