// The lock of OLAF §12.1: whether the update that another was looked up to join has begun to leave by the decision.
//
// It may begin to at any time while the decision is under way. What begins to leave in the cycle of the look-up is
// compared a cycle later: only then the slot is in a register.
`default_nettype none
module olaf_lock #(
    parameter SLOT_BITS = 3
) (
    input  wire                 clk,
    input  wire                 look,            // the slot is looked up: it is `fetch_slot` from the next cycle on
    input  wire                 fetch,           // `decide_slot` from the next cycle on
    input  wire [SLOT_BITS-1:0] fetch_slot,
    input  wire [SLOT_BITS-1:0] decide_slot,

    input  wire                 busy,            // the update at `leaving_slot` is leaving
    input  wire [SLOT_BITS-1:0] leaving_slot,
    input  wire                 start_first,     // the one at `first` begins to
    input  wire [SLOT_BITS-1:0] first,

    output wire                 locked,          // the one at `decide_slot` has begun to leave,
    output wire                 leaves           // and has not left
);
    reg                  looked_up, f_was_locked, d_locked;
    reg                  was_busy, was_start;
    reg  [SLOT_BITS-1:0] was_leaving, was_first;
    wire f_locked = f_was_locked
                 || (looked_up && ((was_busy && fetch_slot == was_leaving) || (was_start && fetch_slot == was_first)));
    wire f_locks = (busy && fetch_slot == leaving_slot) || (start_first && fetch_slot == first);
    assign leaves = (busy && decide_slot == leaving_slot) || (start_first && decide_slot == first);
    assign locked = d_locked || leaves;

    always @(posedge clk) begin
        was_busy <= busy;
        was_start <= start_first;
        was_leaving <= leaving_slot;
        was_first <= first;
        looked_up <= look;
        f_was_locked <= look ? 1'b0 : f_locked || f_locks;
        d_locked <= fetch ? f_locked || f_locks : d_locked || leaves;
    end
endmodule
`default_nettype wire
