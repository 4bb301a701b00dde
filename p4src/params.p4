// What varies with a testbed: ports, ids and table sizes.
#define OLAF_UDP_PORT 16w20300
#define CONTROL_TOS 8w0xFC
#define QUEUE_PORT 9w500
#define CPU_PORT 9w510
#define BETWEEN_ENGINES 8w240

#define WORKERS_SIZE 16384
#define PARAMETER_SERVERS_SIZE 16
#define CLUSTERS_SIZE 1024
#define REFUSALS_SIZE 16
#define LINKS_SIZE 32
#define FORWARDING_SIZE 18432
#define BRIDGING_SIZE 18432

// Cycles that the CRC-32 next to VNP4₁ takes on the FPGA.
#define WORKER_HASH_LATENCY 4
