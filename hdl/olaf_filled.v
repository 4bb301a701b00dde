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
    input  wire                    start,        // from now on `start_segment` is leaving
    input  wire [SEGMENT_BITS-1:0] start_segment,
    input  wire [SEGMENT_BITS-1:0] segment,      // that is leaving
    output reg  [BEAT_BITS:0]      readable      // its beats that can be read
);
    reg [BEAT_BITS:0] beats_of [0:(1<<SEGMENT_BITS)-1];

    // A segment can be opened anew while its last beat of the time before is just being written.
    integer each;
    always @(posedge clk)
        for (each = 0; each < SEGMENTS; each = each + 1)
            if (opening && opening_segment == each[SEGMENT_BITS-1:0]) beats_of[each] <= {{BEAT_BITS{1'b0}}, opened};
            else if (write && write_segment == each[SEGMENT_BITS-1:0]) beats_of[each] <= {1'b0, write_beat} + 1'b1;

    function [BEAT_BITS:0] after_this(
        input [SEGMENT_BITS-1:0] of, input [BEAT_BITS:0] now,
        input opens, input opened_now, input [SEGMENT_BITS-1:0] opens_segment,
        input writes, input [SEGMENT_BITS-1:0] writes_segment, input [BEAT_BITS-1:0] writes_beat
    );
        after_this = opens && opens_segment == of   ? {{BEAT_BITS{1'b0}}, opened_now}
                   : writes && writes_segment == of ? {1'b0, writes_beat} + 1'b1
                   :                                  now;
    endfunction

    always @(posedge clk)
        readable <= start ? after_this(start_segment, beats_of[start_segment], opening, opened, opening_segment,
                                       write, write_segment, write_beat)
                          : after_this(segment, beats_of[segment], opening, opened, opening_segment,
                                       write, write_segment, write_beat);
endmodule
