// Generated from olafctl/targets/opennic/registers.py by `olaflab generate`: do not edit.
// The header of frames between host and box, what a frame's kind can be, and the windows of the registers: 20-bit addresses, the last one first, as a concatenation has them.
`ifndef OLAF_BOX_MAP_VH
`define OLAF_BOX_MAP_VH

`define OLAF_BOX_BLOCKS 4
`define OLAF_BOX_BOX 0
`define OLAF_BOX_BOX_BITS 12
`define OLAF_BOX_QUEUE 1
`define OLAF_BOX_QUEUE_BITS 12
`define OLAF_BOX_VNP4_1 2
`define OLAF_BOX_VNP4_1_BITS 18
`define OLAF_BOX_VNP4_2 3
`define OLAF_BOX_VNP4_2_BITS 19
`define OLAF_BOX_BASE {20'h80000, 20'h40000, 20'h01000, 20'h00000}
`define OLAF_BOX_MASK {20'h80000, 20'hc0000, 20'hff000, 20'hff000}

`define OLAF_BOX_HOST_ETHER_TYPE 16'h88b5
`define OLAF_BOX_HOST_SOURCE 48'h024f4c414600
// Most front ports: what there is one of for each port has so many elements, also in a box with fewer.
`define OLAF_BOX_PORTS 8
`define OLAF_BOX_CPU_PORT 16'd510
`define OLAF_BOX_KIND_BYPASS 8'd0
`define OLAF_BOX_KIND_UPDATE 8'd1
`define OLAF_BOX_KIND_ACK 8'd2
`define OLAF_BOX_KIND_RESULT 8'd3

`endif
