// What becomes of an update, and what was wrong with it.
`ifndef OLAF_FATES_VH
`define OLAF_FATES_VH

`define OLAF_APPEND         4'd0
`define OLAF_MERGE          4'd1
`define OLAF_REPLACE_WORKER 4'd2
`define OLAF_REPLACE_REWARD 4'd3
`define OLAF_DROP_FULL      4'd8
`define OLAF_DROP_REWARD    4'd9
`define OLAF_DROP_MISMATCH  4'd10
`define OLAF_DROP_FAULT     4'd11
`define OLAF_IS_DROP        3   // this bit of a fate

`define OLAF_FAULT_NONE     3'd0
`define OLAF_FAULT_HEADER   3'd1
`define OLAF_FAULT_LENGTH   3'd2
`define OLAF_FAULT_OVERSIZE 3'd3
`define OLAF_FAULT_CLUSTER  3'd4

`define OLAF_END_GOOD      2'd0
`define OLAF_END_TRUNCATED 2'd1
`define OLAF_END_OVERLONG  2'd2

`endif
