// The length that an update declares, from its first beat; 0 for any other frame.
//
// That is its IPv4 header's length if the UDP length agrees: so it is not a fragment, and never as short as a
// frame that was padded. Bytes behind it are not part of the datagram.
`include "olaf_layout.vh"
`default_nettype none
module olaf_box_declared (
    input  wire [511:0] data,
    output wire [15:0]  bytes
);
    localparam [15:0] IPV4 = 16'h0800, BEFORE_UDP = `OLAF_UDP_OFFSET, ETHERNET_BYTES = 16'd14;
    localparam [7:0] VERSION_AND_LENGTH = 8'h45, UDP = 8'd17;
    localparam [15:0] LEAST = `OLAF_HEADER_BYTES - `OLAF_UDP_OFFSET;   // of the UDP length

    wire [15:0] length = `OLAF_UDP_LENGTH_VALUE(data);
    wire [15:0] frame = length + BEFORE_UDP;
    wire is_update = `OLAF_ETHERNET_ETHER_TYPE_VALUE(data) == IPV4
                  && {data[`OLAF_IPV4_VERSION], data[`OLAF_IPV4_IHL]} == VERSION_AND_LENGTH
                  && `OLAF_IPV4_PROTOCOL_VALUE(data) == UDP
                  && data[`OLAF_OLAF_VERSION] == `OLAF_VERSION
                  && data[`OLAF_OLAF_FRAME_TYPE] == `OLAF_TYPE_UPDATE;
    wire agrees = `OLAF_IPV4_TOTAL_LEN_VALUE(data) + ETHERNET_BYTES == frame && length >= LEAST && frame >= BEFORE_UDP;
    assign bytes = is_update && agrees ? frame : 16'd0;

    wire unused = &{1'b0, data};
endmodule
`default_nettype wire
