// iSwitch's rule (iSwitch §3), with exactly one contribution of each member to a round: what becomes of
// a contribution, by what its index accumulates.
`include "olaf_dispositions.vh"
`default_nettype none
module olaf_decide_iswitch (
    input  wire        member_known,   // its member number has a place in the bitmap
    input  wire        accumulates,    // its index accumulates a round
    input  wire        same_round,
    input  wire        older_round,
    input  wire        counted,        // its member is in the sum already
    input  wire        same_size,
    input  wire        finished,       // its round is not newer than the one finished last
    input  wire        quota_reached,
    input  wire        full,
    output reg  [`OLAF_DISPOSITION_BITS-1:0] disposition
);
    always @*
        if (!member_known) disposition = `OLAF_DROP_MEMBER;
        else if (accumulates)
            if (!same_round) disposition = older_round ? `OLAF_DROP_LATE : `OLAF_SUPERSEDE;
            else if (counted) disposition = `OLAF_DROP_DUPLICATE;
            else disposition = same_size ? `OLAF_MERGE : `OLAF_DROP_MISMATCH;
        else if (finished) disposition = `OLAF_DROP_LATE;
        else if (quota_reached) disposition = `OLAF_DROP_QUOTA;
        else disposition = full ? `OLAF_DROP_FULL : `OLAF_APPEND;
endmodule
`default_nettype wire
