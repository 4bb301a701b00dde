// What olaf_windows takes of members, with any updates, for olaflab/queue/formal.
`include "olaf_layout.vh"
`default_nettype none
module formal_top (
    input wire                            clk,
    input wire                            look,
    input wire                            index,
    input wire                            member,
    input wire                            compare,
    input wire [`OLAF_OLAF_SEQ_WIDTH-1:0] number,
    input wire                            take,
    input wire                            known
);
    olaf_windows #(.INDEX_BITS(1), .MEMBER_BITS(1)) windows (
        .clk(clk), .look(look), .index(index), .member(member), .compare(compare), .number(number),
        .taken(), .before_window(), .take(take), .known(known)
    );
endmodule
`default_nettype wire
