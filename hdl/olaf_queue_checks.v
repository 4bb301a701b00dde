// What must hold in every cycle of every simulation; nothing of it is synthesized.
//
//   - a slot is free, waiting, leaving or accumulating, and moves from one to the next only as it may
//   - every buffer belongs to exactly one slot, or is the spare
//   - an index has at most one update in the queue that has not begun to leave
//   - AXI4-Stream: what is offered stays as it is until it is taken
`include "olaf_meta.vh"
`default_nettype none
module olaf_queue_checks #(
    parameter SLOTS = 8,
    parameter AXIS_BITS = 1,  // of everything the output offers
    parameter SLOT_BITS = 3,
    parameter BUFFER_BITS = 4
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [AXIS_BITS-1:0]    m_axis,
    input  wire                    m_valid,
    input  wire                    m_ready,
    input  wire                    committed,
    input  wire                    appended,
    input  wire                    leaving,       // the committed update began to leave before
    input  wire [SLOT_BITS-1:0]    at_slot,
    input  wire [BUFFER_BITS-1:0]  buffer,
    input  wire [BUFFER_BITS-1:0]  next_spare,
    input  wire [`OLAF_META_INDEX_WIDTH-1:0] index,
    input  wire                    tracked,
    input  wire                    accumulates,
    input  wire                    completes,
    input  wire                    release_sum,   // a command sends the sum in `command_slot` off,
    input  wire                    discard,       // or drops it
    input  wire [SLOT_BITS-1:0]    command_slot,
    input  wire                    start_first,
    input  wire                    start_arriving,
    input  wire [SLOT_BITS-1:0]    first,
    input  wire                    depart,
    input  wire [SLOT_BITS-1:0]    departed,
    input  wire [SLOT_BITS:0]      used
);
`ifndef SYNTHESIS
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    localparam [1:0] FREE = 2'd0, WAITING = 2'd1, LEAVING = 2'd2, SUMMING = 2'd3;

    reg  [1:0]              state  [0:SLOTS-1];
    reg                     known  [0:SLOTS-1];
    reg  [`OLAF_META_INDEX_WIDTH-1:0] of [0:SLOTS-1];
    reg  [BUFFER_BITS-1:0]  owns   [0:SLOTS-1];
    reg  [BUFFER_BITS-1:0]  spare;
    reg  [AXIS_BITS-1:0]    offered;
    reg                     waits;
    integer each;

    task broken(input [8*60-1:0] what);
        begin
            $display("olaf_queue: %0s", what);
            $stop;
        end
    endtask

    initial waits = 1'b0;

    always @(posedge clk) begin
        waits <= !rst && m_valid && !m_ready;
        if (m_valid && !m_ready) offered <= m_axis;
        if (!rst && waits) if (!m_valid || m_axis != offered) broken("an offered beat changed before it was taken");
    end

    always @(posedge clk)
        if (rst) begin
            for (each = 0; each < SLOTS; each = each + 1) begin
                state[each] <= FREE;
                owns[each] <= each[BUFFER_BITS-1:0];
            end
            spare <= SLOTS[BUFFER_BITS-1:0];
        end else begin
            if (start_first) begin
                if (state[first] != WAITING) broken("an update began to leave that did not wait");
                state[first] <= LEAVING;
            end
            if (committed) begin
                if (buffer != spare) broken("an update was written to a buffer not its own");
                if (next_spare != owns[at_slot]) broken("the new spare buffer belongs to another slot");
                owns[at_slot] <= buffer;
                spare <= next_spare;
                if (state[at_slot] != (appended ? FREE : accumulates ? SUMMING : leaving ? LEAVING : WAITING))
                    broken("an update took a slot that was not its own");
                if (appended) begin
                    state[at_slot] <= leaving || start_arriving ? LEAVING : accumulates ? SUMMING : WAITING;
                    known[at_slot] <= tracked;
                    of[at_slot] <= index;
                    for (each = 0; each < SLOTS; each = each + 1)
                        if (tracked && state[each] == WAITING && known[each] && of[each] == index
                            && !(start_first && first == each[SLOT_BITS-1:0]))
                            broken("a second unlocked update of an index");
                end
            end
            if (committed && accumulates && completes) state[at_slot] <= WAITING;
            if (release_sum || discard) begin
                if (state[command_slot] != SUMMING) broken("a command took a slot that accumulates nothing");
                state[command_slot] <= release_sum ? WAITING : FREE;
                if (committed) broken("a command in the middle of an update");
            end
            if (depart) begin
                if (state[departed] != LEAVING) broken("a slot was freed that was not leaving");
                state[departed] <= FREE;
            end
            if (used > FULL) broken("more updates than slots");
        end
`else
    wire unused = &{1'b0, clk, rst, m_axis, m_valid, m_ready, committed, appended, leaving, at_slot, buffer,
                    next_spare, index, tracked, accumulates, completes, release_sum, discard, command_slot, start_first, start_arriving, first, depart, departed, used,
                    SLOTS > 0};
`endif
endmodule
`default_nettype wire
