// Addresses one copy to its member: destination MAC, IPv4 address and UDP port, and the IPv4 checksum that
// follows. Three cycles; every stage moves when `enable` is set.
//
// The checksum is made from the whole header, as v1model's update_checksum does, not adjusted: so that a
// header which arrived with a wrong one leaves with the right one on every target.
`default_nettype none
module olaf_box_rewrite #(
    parameter USER_BITS = 1   // what travels with a beat
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 enable,

    input  wire                 in_valid,
    input  wire                 in_rewrite,  // with a frame's first beat: Ethernet, IPv4 without options, UDP
    input  wire [47:0]          in_mac,
    input  wire [31:0]          in_addr,
    input  wire [15:0]          in_port,
    input  wire [576:0]         in_beat,     // tlast, tkeep, tdata
    input  wire [USER_BITS-1:0] in_user,

    output wire                 out_valid,
    output wire [576:0]         out_beat,
    output wire [USER_BITS-1:0] out_user
);
    localparam MAC = 0, HEADER = 14, CHECKSUM = 24, ADDR = 30, PORT = 36; // bytes of the frame

    // The bits of a value in the order of its bytes on the wire, first byte lowest.
    function [47:0] wire48(input [47:0] v);
        wire48 = {v[7:0], v[15:8], v[23:16], v[31:24], v[39:32], v[47:40]};
    endfunction
    function [31:0] wire32(input [31:0] v);
        wire32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
    endfunction
    function [15:0] wire16(input [15:0] v);
        wire16 = {v[7:0], v[15:8]};
    endfunction

    // 1: the new addresses are in, and half of the header's words are added to the other half.
    reg [511:0] addressed;
    always @* begin
        addressed = in_beat[511:0];
        if (in_rewrite) begin
            addressed[8*MAC +: 48] = wire48(in_mac);
            addressed[8*ADDR +: 32] = wire32(in_addr);
            addressed[8*PORT +: 16] = wire16(in_port);
            addressed[8*CHECKSUM +: 16] = 16'd0;
        end
    end
    function [17:0] sum4(input [63:0] words);
        sum4 = {2'd0, wire16(words[15:0])} + {2'd0, wire16(words[31:16])}
             + {2'd0, wire16(words[47:32])} + {2'd0, wire16(words[63:48])};
    endfunction

    reg                 valid1, valid2, valid3;
    reg                 rewrite1, rewrite2;
    reg [576:0]         beat1, beat2, beat3;
    reg [USER_BITS-1:0] user1, user2, user3;
    reg [17:0]          low, high;
    reg [19:0]          sum;

    // 2: all ten words. 3: the carries come round, and the complement goes in.
    wire [16:0] once = {1'b0, sum[15:0]} + {13'd0, sum[19:16]};
    wire [15:0] checksum = ~(once[15:0] + {15'd0, once[16]});

    always @(posedge clk)
        if (rst) {valid1, valid2, valid3} <= 3'd0;
        else if (enable) {valid1, valid2, valid3} <= {in_valid, valid1, valid2};

    always @(posedge clk)
        if (enable) begin
            rewrite1 <= in_rewrite;
            beat1 <= {in_beat[576:512], addressed};
            user1 <= in_user;
            low <= sum4(addressed[8*HEADER +: 64]);
            high <= sum4(addressed[8*(HEADER+8) +: 64]);
            rewrite2 <= rewrite1;
            beat2 <= beat1;
            user2 <= user1;
            sum <= {2'd0, low} + {2'd0, high} + {4'd0, wire16(beat1[8*(HEADER+16) +: 16])}
                 + {4'd0, wire16(beat1[8*(HEADER+18) +: 16])};
            beat3 <= beat2;
            if (rewrite2) beat3[8*CHECKSUM +: 16] <= wire16(checksum);
            user3 <= user2;
        end

    assign out_valid = valid3;
    assign out_beat = beat3;
    assign out_user = user3;
endmodule
`default_nettype wire
