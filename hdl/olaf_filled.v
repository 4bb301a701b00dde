// How much of each buffer has been written: an update may leave as fast as it arrives, never faster.
`default_nettype none
module olaf_filled #(
    parameter BUFFERS = 9,
    parameter BUFFER_BITS = 4,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    opening,      // a buffer is about to be written again
    input  wire                    opened,       // and its first beat is written now
    input  wire [BUFFER_BITS-1:0] opening_buffer,
    input  wire                    write,
    input  wire [BUFFER_BITS-1:0] write_buffer,
    input  wire [BEAT_BITS-1:0]    write_beat,
    input  wire                    start,        // from now on `start_buffer` is leaving
    input  wire [BUFFER_BITS-1:0] start_buffer,
    input  wire [BUFFER_BITS-1:0] buffer,      // that is leaving
    output reg  [BEAT_BITS:0]      readable      // its beats that can be read
);
    reg [BEAT_BITS:0] beats_of [0:(1<<BUFFER_BITS)-1];

    // A buffer can be opened again while its last beat of the time before is just being written.
    integer each;
    always @(posedge clk)
        for (each = 0; each < BUFFERS; each = each + 1)
            if (opening && opening_buffer == each[BUFFER_BITS-1:0]) beats_of[each] <= {{BEAT_BITS{1'b0}}, opened};
            else if (write && write_buffer == each[BUFFER_BITS-1:0]) beats_of[each] <= {1'b0, write_beat} + 1'b1;

    function [BEAT_BITS:0] after_this(
        input [BUFFER_BITS-1:0] of, input [BEAT_BITS:0] now,
        input opens, input opened_now, input [BUFFER_BITS-1:0] opens_buffer,
        input writes, input [BUFFER_BITS-1:0] writes_buffer, input [BEAT_BITS-1:0] writes_beat
    );
        after_this = opens && opens_buffer == of   ? {{BEAT_BITS{1'b0}}, opened_now}
                   : writes && writes_buffer == of ? {1'b0, writes_beat} + 1'b1
                   :                                  now;
    endfunction

    always @(posedge clk)
        readable <= start ? after_this(start_buffer, beats_of[start_buffer], opening, opened, opening_buffer,
                                       write, write_buffer, write_beat)
                          : after_this(buffer, beats_of[buffer], opening, opened, opening_buffer,
                                       write, write_buffer, write_beat);
endmodule
`default_nettype wire
