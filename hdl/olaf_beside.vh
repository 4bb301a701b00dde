// What is kept beside an update in the out list until it leaves.
`ifndef OLAF_BESIDE_VH
`define OLAF_BESIDE_VH

`define OLAF_BESIDE_BITS    97
`define OLAF_BESIDE_SIZE    0 +: 16
`define OLAF_BESIDE_SRC     16 +: 16
`define OLAF_BESIDE_DST     32 +: 16
`define OLAF_BESIDE_CLUSTER 48 +: 16
`define OLAF_BESIDE_WORKER  64 +: 32
`define OLAF_BESIDE_TRACKED 96      // its cluster's table knows of it; not in FIFO mode

`endif
