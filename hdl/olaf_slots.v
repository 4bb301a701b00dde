// What is known of each slot: where in the payload memory its buffer is, and what travels with its update.
//
// There is one buffer more than slots, the spare: the arriving update is always written there, and when it
// has arrived whole its slot takes the spare, and the slot's own buffer becomes the next spare. A buffer
// is its number and the address of its first beat, so that buffers lie side by side without gaps.
`include "olaf_meta.vh"
`default_nettype none
module olaf_slots #(
    parameter SLOTS = 8,
    parameter SLOT_BITS = 3,
    parameter BEATS = 24,        // of a buffer
    parameter BUFFER_BITS = 4,
    parameter ADDR_BITS = 8
) (
    input  wire                             clk,
    input  wire                             clearing,       // slot i gets buffer i at step i
    input  wire                             rst,
    input  wire [15:0]                      clearing_step,

    input  wire                             set_buffer,
    input  wire                             set_meta,
    input  wire [SLOT_BITS-1:0]             set_slot,
    input  wire [BUFFER_BITS+ADDR_BITS-1:0] buffer,
    input  wire [`OLAF_META_BITS-1:0]       meta,

    input  wire [SLOT_BITS-1:0]             old_slot,       // of the waiting update, and of a new one
    output wire [BUFFER_BITS+ADDR_BITS-1:0] old_buffer,
    input  wire [SLOT_BITS-1:0]             new_slot,
    output wire [BUFFER_BITS+ADDR_BITS-1:0] new_buffer,
    input  wire [SLOT_BITS-1:0]             start_slot,     // next to leave
    output wire [BUFFER_BITS+ADDR_BITS-1:0] start_buffer,
    output wire [`OLAF_META_BITS-1:0]       start_meta
);
    reg [BUFFER_BITS+ADDR_BITS-1:0] buffers [0:(1<<SLOT_BITS)-1];
    reg [`OLAF_META_BITS-1:0]       metas   [0:(1<<SLOT_BITS)-1];
    reg [ADDR_BITS-1:0]             clearing_address;

    assign old_buffer = buffers[old_slot];
    assign new_buffer = buffers[new_slot];
    assign start_buffer = buffers[start_slot];
    assign start_meta = metas[start_slot];

    always @(posedge clk)
        if (rst) clearing_address <= {ADDR_BITS{1'b0}};
        else if (clearing) clearing_address <= clearing_address + BEATS[ADDR_BITS-1:0];

    always @(posedge clk)
        if (clearing) begin
            if ({16'd0, clearing_step} < SLOTS)
                buffers[clearing_step[SLOT_BITS-1:0]] <= {clearing_step[BUFFER_BITS-1:0], clearing_address};
        end else if (set_buffer) buffers[set_slot] <= buffer;

    always @(posedge clk) if (set_meta) metas[set_slot] <= meta;
endmodule
`default_nettype wire
