// iSwitch's asynchronous rule (iSwitch §4), with each of a member's contributions at most once: what becomes of a
// contribution, by what was taken of its member and whether its index accumulates.
`include "olaf_dispositions.vh"
`default_nettype none
module olaf_decide_iswitch_async (
    input  wire        member_known,   // its member number has a place in the bitmap
    input  wire        counted,        // something of its member was taken
    input  wire        taken,          // this one was
    input  wire        before_window, // it is older than what is known of the member
    input  wire        accumulates,
    input  wire        same_size,
    input  wire        quota_reached,
    input  wire        full,
    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition
);
    always @*
        if (!member_known) disposition = `OLAF_DROP_MEMBER;
        else if (counted && taken) disposition = `OLAF_DROP_DUPLICATE;
        else if (counted && before_window) disposition = `OLAF_DROP_LATE;
        else if (accumulates) disposition = same_size ? `OLAF_MERGE : `OLAF_DROP_MISMATCH;
        else if (quota_reached) disposition = `OLAF_DROP_QUOTA;
        else disposition = full ? `OLAF_DROP_FULL : `OLAF_APPEND;
endmodule
`default_nettype wire
