// Looks up what becomes of each frame that VNP4₂ let out: one port, or every copy of a multicast group.
//
// A group is a run of entries of the copy table; a copy is a port and, where the frame is for a cluster's
// members, the member to whom it is addressed. Copies of anything else do not go back to where the frame
// came from (as VNP4₂'s v1model egress does it). Each frame ends in exactly one copy marked `last`.
`default_nettype none
module olaf_box_copies #(
    parameter PORTS = 2,          // front ports
    parameter GROUP_BITS = 11,    // log2 of the multicast groups; group 0 is none
    parameter COPY_BITS = 12,     // log2 of the copy table
    parameter PLACE_BITS = 10,    // bits of a place in the frame store
    parameter FRAMES_BITS = 9     // log2 of the frames that may wait here: as many as the store has beats
) (
    input  wire                   clk,
    input  wire                   rst,

    input  wire [16*PORTS-1:0]    port_numbers,

    // Tables, written by the control plane.
    input  wire                   write_group,
    input  wire [GROUP_BITS-1:0]  group_index,
    input  wire [COPY_BITS-1:0]   group_first,
    input  wire [COPY_BITS:0]     group_count,
    input  wire                   write_copy,
    input  wire [COPY_BITS-1:0]   copy_index,
    input  wire [15:0]            copy_port,
    input  wire                   copy_rewrite,
    input  wire [47:0]            copy_mac,
    input  wire [31:0]            copy_addr,
    input  wire [15:0]            copy_udp_port,

    // A frame that is in the store, whole or but its beginning.
    input  wire                   frame,
    input  wire                   frame_early,      // more of it comes: it has one copy
    input  wire [PLACE_BITS-1:0]  frame_start,
    input  wire [15:0]            frame_size,
    input  wire [15:0]            frame_src,
    input  wire [15:0]            frame_dst,
    input  wire [15:0]            frame_group,
    input  wire                   frame_addressed,  // its copies are addressed to members

    // A copy to send, or nothing but the end of a frame.
    output wire                   copy_valid,
    input  wire                   copy_ready,
    output wire                   send,
    output wire                   early,            // of the frame more comes, sent or not
    output wire                   last,
    output wire [PORTS-1:0]       port,             // one bit
    output wire [PLACE_BITS-1:0]  start,
    output wire [15:0]            size,
    output wire                   rewrite,
    output wire [47:0]            mac,
    output wire [31:0]            addr,
    output wire [15:0]            udp_port,

    output wire                   dropped_port,     // a copy for a port that there is not
    output wire                   dropped_group,    // a frame for a group without copies
    output wire                   pruned            // a copy that would have gone back
);
    localparam FRAME_WIDTH = PLACE_BITS + 16 * 4 + 2;
    localparam COPY_WIDTH = 16 + 1 + 48 + 32 + 16;
    localparam [16:0] GROUPS = 1 << GROUP_BITS;

    (* ram_style = "block" *) reg [FRAME_WIDTH-1:0]           frames [0:(1<<FRAMES_BITS)-1];
    (* ram_style = "block" *) reg [COPY_BITS+COPY_BITS+1-1:0] groups [0:(1<<GROUP_BITS)-1];
    (* ram_style = "block" *) reg [COPY_WIDTH-1:0]            copies [0:(1<<COPY_BITS)-1];

    always @(posedge clk) begin
        if (write_group) groups[group_index] <= {group_count, group_first};
        if (write_copy) copies[copy_index] <= {copy_port, copy_rewrite, copy_mac, copy_addr, copy_udp_port};
    end

    // Frames, in order: taken out (1), their group looked up (2, 3), run through (at 3).
    reg [FRAMES_BITS:0]     put, got;
    reg                     valid1, valid2, valid3;
    reg [FRAME_WIDTH-1:0]   frame1, frame2, frame3;
    reg [2*COPY_BITS:0]     entry2;
    reg [COPY_BITS-1:0]     at;       // the copy that is read next
    reg [COPY_BITS:0]       left;     // copies of this frame still to be read, that one included
    wire                    room;
    wire                    read = valid3 && room;  // a copy, or the one end of a frame without any
    wire                    done3 = read && left <= {{COPY_BITS{1'b0}}, 1'b1};
    wire                    advance = !valid3 || done3;
    wire [15:0]             group1 = frame1[16 +: 16];
    wire [15:0]             group2 = frame2[16 +: 16];
    wire                    in_range2 = {1'b0, group2} < GROUPS;
    wire                    begin3 = advance && valid2;

    always @(posedge clk) begin
        if (frame)
            frames[put[FRAMES_BITS-1:0]] <= {frame_early, frame_addressed, frame_start, frame_size, frame_src, frame_group, frame_dst};
        if (advance) begin
            frame1 <= frames[got[FRAMES_BITS-1:0]];
            frame2 <= frame1;
            entry2 <= groups[group1[GROUP_BITS-1:0]];
            frame3 <= frame2;
        end
        if (begin3) begin
            at <= entry2[COPY_BITS-1:0];
            left <= group2 != 16'd0 && in_range2 ? entry2[2*COPY_BITS:COPY_BITS] : {(COPY_BITS + 1){1'b0}};
        end else if (read) begin
            at <= at + 1'b1;
            left <= left - 1'b1;
        end
    end

    always @(posedge clk)
        if (rst) begin
            put <= {(FRAMES_BITS + 1){1'b0}};
            got <= {(FRAMES_BITS + 1){1'b0}};
            {valid1, valid2, valid3} <= 3'd0;
        end else begin
            if (frame) put <= put + 1'b1;
            if (advance) begin
                valid1 <= put != got;
                if (put != got) got <= got + 1'b1;
                valid2 <= valid1;
                valid3 <= valid2;
            end
        end

    // The copy (4), and what it comes to (5).
    reg                   valid4, valid5, last4, some4;
    reg [FRAME_WIDTH-1:0] frame4;
    reg [COPY_WIDTH-1:0]  copy4;
    reg                   send5, last5, early5, rewrite5, port_missing5, group_missing5, back5;
    reg [PORTS-1:0]       port5;
    reg [PLACE_BITS-1:0]  start5;
    reg [15:0]            size5, udp_port5;
    reg [47:0]            mac5;
    reg [31:0]            addr5;

    wire        addressed4, early4;
    wire [PLACE_BITS-1:0] start4;
    wire [15:0] size4, src4, group4, dst4, port4, udp_port4;
    wire        rewrite4;
    wire [47:0] mac4;
    wire [31:0] addr4;
    assign {early4, addressed4, start4, size4, src4, group4, dst4} = frame4;
    assign {port4, rewrite4, mac4, addr4, udp_port4} = copy4;

    wire        unicast4 = group4 == 16'd0;
    wire [15:0] number4 = unicast4 ? dst4 : port4;
    reg [PORTS-1:0] one_hot4;
    integer i;
    always @* for (i = 0; i < PORTS; i = i + 1) one_hot4[i] = number4 == port_numbers[16*i +: 16];
    wire        exists4 = |one_hot4 && number4 != 16'd0;
    wire        back4 = !unicast4 && !addressed4 && number4 == src4;
    wire        any4 = unicast4 || some4;

    always @(posedge clk) begin
        frame4 <= frame3;
        copy4 <= copies[at];
        last4 <= left <= {{COPY_BITS{1'b0}}, 1'b1};
        some4 <= left != {(COPY_BITS + 1){1'b0}};
        send5 <= any4 && exists4 && !back4;
        last5 <= last4;
        early5 <= early4;
        port5 <= one_hot4;
        start5 <= start4;
        size5 <= size4;
        rewrite5 <= !unicast4 && rewrite4 && addressed4;
        mac5 <= mac4;
        addr5 <= addr4;
        udp_port5 <= udp_port4;
        port_missing5 <= any4 && !exists4 && !back4;
        group_missing5 <= !any4;
        back5 <= any4 && back4;
    end
    always @(posedge clk)
        if (rst) {valid4, valid5} <= 2'd0;
        else {valid4, valid5} <= {read, valid4};

    assign dropped_port = valid5 && port_missing5;
    assign dropped_group = valid5 && group_missing5;
    assign pruned = valid5 && back5;

    // A few copies ahead of the sender, so that frames of one beat leave one per cycle. What neither is sent nor
    // ends its frame does not go in.
    localparam OUT_WIDTH = 3 + PORTS + PLACE_BITS + 16 + 1 + 48 + 32 + 16;
    reg [OUT_WIDTH-1:0] ahead [0:7];
    reg [3:0] ahead_put, ahead_got;
    wire [3:0] ahead_count = ahead_put - ahead_got;
    assign room = ahead_count < 4'd5;   // two may be on their way
    assign copy_valid = ahead_count != 4'd0;
    assign {send, last, early, port, start, size, rewrite, mac, addr, udp_port} = ahead[ahead_got[2:0]];

    always @(posedge clk)
        if (valid5) ahead[ahead_put[2:0]] <= {send5, last5, early5, port5, start5, size5, rewrite5, mac5, addr5, udp_port5};
    always @(posedge clk)
        if (rst) begin
            ahead_put <= 4'd0;
            ahead_got <= 4'd0;
        end else begin
            if (valid5 && (send5 || last5)) ahead_put <= ahead_put + 4'd1;
            if (copy_valid && copy_ready) ahead_got <= ahead_got + 4'd1;
        end

    wire unused = &{1'b0, group1};
endmodule
`default_nettype wire
