// What becomes of an update: its own faults first, then its index' mode.
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_decide (
    input  wire [`OLAF_FAULT_BITS-1:0] fault,   // the update's own, found in its headers
    input  wire        halted,
    input  wire        stale,                   // beyond the bound of its index
    input  wire [`OLAF_SETTINGS_MODE_WIDTH-1:0] mode,
    input  wire        full,
    input  wire        same_size,               // as the waiting update

    // OLAF mode.
    input  wire        waiting,                 // an unlocked update of its index is in the queue
    input  wire        replaceable,             // replace_status
    input  wire        same_worker,
    input  wire        aggregated,              // it is itself an aggregate
    input  wire        reward_enable,
    input  wire        reward_above,            // the waiting update's by more than the threshold
    input  wire        reward_below,

    // ISWITCH and ISWITCH_ASYNC mode.
    input  wire        member_known,            // its member number has a place in the bitmap
    input  wire        accumulates,             // its index accumulates a sum
    input  wire        same_round,
    input  wire        older_round,
    input  wire        counted,                 // its member is in the sum already, or was in any
    input  wire        finished,                // its round is not newer than the one finished last
    input  wire        taken,                   // its number was taken already
    input  wire        before_window, // or is older than the window
    input  wire        quota_reached,

    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition
);
    wire [`OLAF_DISPOSITION_BITS-1:0] olaf, iswitch, iswitch_async;

    olaf_decide_olaf algorithm_1 (
        .fifo(mode == `OLAF_MODE_FIFO), .full(full), .waiting(waiting), .same_size(same_size),
        .replaceable(replaceable), .same_worker(same_worker), .aggregated(aggregated),
        .reward_enable(reward_enable), .reward_above(reward_above), .reward_below(reward_below),
        .disposition(olaf)
    );

    olaf_decide_iswitch round (
        .member_known(member_known), .accumulates(accumulates), .same_round(same_round),
        .older_round(older_round), .counted(counted), .same_size(same_size), .finished(finished),
        .quota_reached(quota_reached), .full(full), .disposition(iswitch)
    );

    olaf_decide_iswitch_async numbered (
        .member_known(member_known), .counted(counted), .taken(taken), .before_window(before_window),
        .accumulates(accumulates), .same_size(same_size), .quota_reached(quota_reached), .full(full),
        .disposition(iswitch_async)
    );

    always @*
        if (fault != `OLAF_FAULT_NONE) disposition = `OLAF_DROP_FAULT;
        else if (halted) disposition = `OLAF_DROP_HALTED;
        else if (stale) disposition = `OLAF_DROP_STALE;
        else disposition = mode == `OLAF_MODE_ISWITCH ? iswitch
                         : mode == `OLAF_MODE_ISWITCH_ASYNC ? iswitch_async
                         : olaf;
endmodule
`default_nettype wire
