// What the blocks of one pipeline tell each other about a frame. The first fields are the tuser: in the
// XSA form they are the user metadata next to the AXI4-Stream, in the v1model form they travel in the shim.
struct metadata_t {
    bit<16> size;
    bit<16> src;
    bit<16> dst;
    bit<8>  kind;
    bit<16> cluster;
    bit<16> index;
    bit<8>  member;
    bit<32> worker;
    bit<24> occupancy;
    bit<16> active_clusters;
    bit<16> slots;
    bit<8>  status_flags;

    bit<32> worker_addr;   // the worker's address: an update's source, an ACK's destination
    bit<32> server_addr;   // the parameter server's address: an update's destination, an ACK's source
    bit<16> group;         // multicast group that the frame goes to; 0 is none
    bit<16> segments;      // of the worker's model
    bit<8>  refusal;       // why a frame is refused; 0: it is not
    bit<4>  epoch;         // of the worker's job
    bit<1>  known_worker;
    bit<1>  known_server;
    bit<1>  punt;
    bit<1>  drop;
    bit<1>  rewritten;     // the IPv4 header changed, so its checksum must be computed again
}

struct headers_t {
    packet_in_t   packet_in;
    packet_out_t  packet_out;
    tuser_t       shim;
    ethernet_t    ethernet;
    vlan_t        vlan;
    snap_t        snap;
    ipv4_t        ipv4;
    udp_t         udp;
    olaf_t        olaf;
    olaf_status_t status;
}
