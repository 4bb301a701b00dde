// How much of each buffer has been written: an update may leave as fast as it arrives, never faster.
//
// Only the four updates that were opened last can be on their way into memory: an update takes at least
// four cycles, and a beat is written at most nine cycles after it was issued. All other buffers are
// complete. Each of the four has a number, and its beats carry it.
`default_nettype none
module olaf_filled #(
    parameter BUFFER_BITS = 4,
    parameter BEAT_BITS = 5
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   open,          // update `open_number` will be written to `open_buffer`
    input  wire                   opened,        // and its first beat is written now
    input  wire [1:0]             open_number,
    input  wire [BUFFER_BITS-1:0] open_buffer,
    input  wire                   write,         // a beat of update `write_number`
    input  wire [1:0]             write_number,
    input  wire [BEAT_BITS-1:0]   write_beat,
    input  wire [BUFFER_BITS-1:0] buffer,        // that is leaving,
    input  wire                   start,         // unless in the next cycle another is:
    input  wire                   start_arriving,// that of the arriving update,
    input  wire [BUFFER_BITS-1:0] first_buffer,  // or else this
    output reg  [BEAT_BITS:0]     readable       // beats that can be read of the one that is leaving then
);
    localparam COUNT_BITS = BEAT_BITS + 1;

    reg  [3:0]              known;   // which numbers say more than "complete"
    reg  [4*BUFFER_BITS-1:0] buffers; // of number i at i * BUFFER_BITS
    reg  [4*COUNT_BITS-1:0]  beats;   // and how many of them, at i * COUNT_BITS

    // As they will be in the next cycle.
    reg  [3:0]               known_next;
    reg  [4*BUFFER_BITS-1:0] buffers_next;
    reg  [4*COUNT_BITS-1:0]  beats_next;
    reg  [COUNT_BITS-1:0]    of_leaving, of_first, of_arriving;
    integer each;
    always @* begin
        of_leaving = {COUNT_BITS{1'b1}};
        of_first = {COUNT_BITS{1'b1}};
        of_arriving = {COUNT_BITS{1'b1}};
        buffers_next = buffers;
        beats_next = beats;
        for (each = 0; each < 4; each = each + 1) begin
            known_next[each] = known[each] && !(open && buffers[each*BUFFER_BITS +: BUFFER_BITS] == open_buffer);
            if (write && write_number == each[1:0])
                beats_next[each*COUNT_BITS +: COUNT_BITS] = {1'b0, write_beat} + 1'b1;
            if (open && open_number == each[1:0]) begin
                known_next[each] = 1'b1;
                buffers_next[each*BUFFER_BITS +: BUFFER_BITS] = open_buffer;
                beats_next[each*COUNT_BITS +: COUNT_BITS] = {{BEAT_BITS{1'b0}}, opened};
            end
            if (known_next[each] && buffers_next[each*BUFFER_BITS +: BUFFER_BITS] == buffer)
                of_leaving = beats_next[each*COUNT_BITS +: COUNT_BITS];
            if (known_next[each] && buffers_next[each*BUFFER_BITS +: BUFFER_BITS] == first_buffer)
                of_first = beats_next[each*COUNT_BITS +: COUNT_BITS];
            if (known_next[each] && buffers_next[each*BUFFER_BITS +: BUFFER_BITS] == open_buffer)
                of_arriving = beats_next[each*COUNT_BITS +: COUNT_BITS];
        end
    end

    always @(posedge clk) begin
        known <= rst ? 4'd0 : known_next;
        readable <= start_arriving ? of_arriving : start ? of_first : of_leaving;
        buffers <= buffers_next;
        beats <= beats_next;
    end
endmodule
`default_nettype wire
