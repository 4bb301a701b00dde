// What became of the update that has ended: exactly one of these, and a counter counts each.
//
// One of no fault that came to a bad end is not what was decided, unless it had begun to leave: then ingress repairs it
// and its end is good.
`include "olaf_dispositions.vh"
`default_nettype none
module olaf_outcome (
    input  wire ended,
    input  wire [`OLAF_END_BITS-1:0]         ending,
    input  wire [`OLAF_DISPOSITION_BITS-1:0] disposition,
    input  wire [`OLAF_FAULT_BITS-1:0]       fault,

    output wire appended,
    output wire merged,
    output wire replaced_worker,
    output wire replaced_reward,
    output wire superseded,        // and the sum of an older round is dropped
    output wire dropped_full,
    output wire dropped_reward,
    output wire dropped_mismatch,
    output wire dropped_halted,
    output wire dropped_stale,
    output wire dropped_member,
    output wire dropped_duplicate,
    output wire dropped_late,
    output wire dropped_quota,
    output wire dropped_truncated,
    output wire dropped_overlong,
    output wire dropped_header,
    output wire dropped_length,
    output wire dropped_oversize,
    output wire dropped_index
);
    wire good = ended && ending == `OLAF_END_GOOD;
    wire faulty = ended && disposition == `OLAF_DROP_FAULT;
    wire faultless = ended && disposition != `OLAF_DROP_FAULT;

    assign appended = good && disposition == `OLAF_APPEND;
    assign merged = good && disposition == `OLAF_MERGE;
    assign replaced_worker = good && disposition == `OLAF_REPLACE_WORKER;
    assign replaced_reward = good && disposition == `OLAF_REPLACE_REWARD;
    assign superseded = good && disposition == `OLAF_SUPERSEDE;
    assign dropped_full = good && disposition == `OLAF_DROP_FULL;
    assign dropped_reward = good && disposition == `OLAF_DROP_REWARD;
    assign dropped_mismatch = good && disposition == `OLAF_DROP_MISMATCH;
    assign dropped_halted = good && disposition == `OLAF_DROP_HALTED;
    assign dropped_stale = good && disposition == `OLAF_DROP_STALE;
    assign dropped_member = good && disposition == `OLAF_DROP_MEMBER;
    assign dropped_duplicate = good && disposition == `OLAF_DROP_DUPLICATE;
    assign dropped_late = good && disposition == `OLAF_DROP_LATE;
    assign dropped_quota = good && disposition == `OLAF_DROP_QUOTA;
    assign dropped_truncated = faultless && ending == `OLAF_END_TRUNCATED;
    assign dropped_overlong = faultless && ending == `OLAF_END_OVERLONG;
    assign dropped_header = faulty && fault == `OLAF_FAULT_HEADER;
    assign dropped_length = faulty && fault == `OLAF_FAULT_LENGTH;
    assign dropped_oversize = faulty && fault == `OLAF_FAULT_OVERSIZE;
    assign dropped_index = faulty && fault == `OLAF_FAULT_INDEX;
endmodule
`default_nettype wire
