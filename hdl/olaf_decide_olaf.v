// Algorithm 1 of OLAF with the reward rule of OLAF §3: what becomes of an update, by what waits.
`include "olaf_dispositions.vh"
`default_nettype none
module olaf_decide_olaf (
    input  wire        fifo,
    input  wire        full,
    input  wire        waiting,        // an unlocked update of its index is in the queue
    input  wire        same_size,
    input  wire        replaceable,    // replace_status
    input  wire        same_worker,
    input  wire        aggregated,     // it is itself an aggregate
    input  wire        reward_enable,
    input  wire        reward_above,   // the waiting update's by more than the threshold
    input  wire        reward_below,
    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition
);
    always @*
        if (fifo || !waiting) disposition = full ? `OLAF_DROP_FULL : `OLAF_APPEND;
        else if (!same_size) disposition = `OLAF_DROP_MISMATCH;
        else if (replaceable && same_worker && !aggregated) disposition = `OLAF_REPLACE_WORKER;
        else if (reward_enable && reward_above) disposition = `OLAF_REPLACE_REWARD;
        else if (reward_enable && reward_below) disposition = `OLAF_DROP_REWARD;
        else disposition = `OLAF_MERGE;
endmodule
`default_nettype wire
