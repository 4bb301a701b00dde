// What varies with a testbed: ports, ids and table sizes.
const bit<16> OLAF_UDP_PORT = 20300;
const bit<8>  CONTROL_TOS = 0xFC;
const bit<9>  QUEUE_PORT = 500;
const bit<9>  CPU_PORT = 510;

#define WORKERS_SIZE 1024
#define PARAMETER_SERVERS_SIZE 16
#define CLUSTERS_SIZE 1024
#define FORWARDING_SIZE 1024
#define BRIDGING_SIZE 1024

// Cycles that the CRC32 beside VNP4₁ takes on the FPGA.
#define WORKER_HASH_LATENCY 4
