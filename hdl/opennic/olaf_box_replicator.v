// Stores each frame once and sends it once for each of its copies, one beat per cycle without a gap between
// copies. Every copy goes to one port and may be addressed to a member of its cluster; its size is measured.
// A frame for one port whose size is known beforehand leaves as it comes.
`default_nettype none
module olaf_box_replicator #(
    parameter PORTS = 2,          // front ports
    parameter DEPTH_BITS = 9,     // log2 of the beats stored
    parameter MAX_BYTES = 9600,   // the longest frame
    parameter GROUP_BITS = 11,    // log2 of the multicast groups
    parameter COPY_BITS = 12      // log2 of the copy table, which all groups share
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  pause,   // begin no further copy
    output wire                  resting, // and none is being sent

    input  wire [16*PORTS-1:0]   port_numbers,
    input  wire                  write_group,
    input  wire [GROUP_BITS-1:0] group_index,
    input  wire [COPY_BITS-1:0]  group_first,
    input  wire [COPY_BITS:0]    group_count,
    input  wire                  write_copy,
    input  wire [COPY_BITS-1:0]  copy_index,
    input  wire [15:0]           copy_port,
    input  wire                  copy_rewrite,
    input  wire [47:0]           copy_mac,
    input  wire [31:0]           copy_addr,
    input  wire [15:0]           copy_udp_port,

    input  wire [511:0]          s_tdata,
    input  wire [63:0]           s_tkeep,
    input  wire                  s_tlast,
    input  wire [15:0]           s_src,        // the front port it came in by
    input  wire [15:0]           s_dst,        // the front port it leaves by, if group is 0
    input  wire [15:0]           s_group,      // multicast group, or 0
    input  wire                  s_addressed,  // its copies are addressed to members
    input  wire [15:0]           s_declared,   // bytes that it certainly has, or 0: it is measured
    input  wire                  s_tvalid,
    output wire                  s_tready,

    output wire [511:0]          m_tdata,
    output wire [63:0]           m_tkeep,
    output wire                  m_tlast,
    output wire [15:0]           m_size,
    output wire [PORTS-1:0]      m_port,       // one bit
    output wire                  m_tvalid,
    input  wire                  m_tready,

    output wire                  accepted,
    output wire                  copied,       // a copy begins to leave
    output wire                  dropped_oversize,
    output wire                  dropped_malformed,
    output wire                  dropped_port,
    output wire                  dropped_group,
    output wire                  pruned
);
    wire                  write, commit;
    wire [DEPTH_BITS-1:0] write_addr;
    wire [576:0]          write_beat;
    wire [DEPTH_BITS:0]   begun, finish, filled;
    wire                  begins_early;
    wire [15:0]           measured;
    wire [48:0]           user;
    reg  [DEPTH_BITS:0]   freed;
    wire                  dropped_full;

    olaf_box_intake #(
        .DEPTH_BITS(DEPTH_BITS), .MAX_BYTES(MAX_BYTES), .USER_BITS(49), .DROP_WHEN_FULL(0)
    ) intake (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tuser({s_addressed, s_group, s_dst, s_src}),
        .s_declared(s_group == 16'd0 ? s_declared : 16'd0), .s_tlast(s_tlast), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .write(write), .write_addr(write_addr), .write_beat(write_beat),
        .commit(commit), .commit_early(begins_early), .commit_start(begun), .commit_end(finish), .filled(filled),
        .commit_size(measured),
        .commit_user(user), .freed(freed),
        .accepted(accepted), .dropped_oversize(dropped_oversize), .dropped_malformed(dropped_malformed),
        .dropped_full(dropped_full)
    );

    wire                copy_valid, copy_ready, send, early, last, rewrite;
    wire [PORTS-1:0]    port;
    wire [DEPTH_BITS:0] start;
    wire [15:0]         size, udp_port;
    wire [47:0]         mac;
    wire [31:0]         addr;

    olaf_box_copies #(
        .PORTS(PORTS), .GROUP_BITS(GROUP_BITS), .COPY_BITS(COPY_BITS), .PLACE_BITS(DEPTH_BITS + 1),
        .FRAMES_BITS(DEPTH_BITS)
    ) lookup (
        .clk(clk), .rst(rst), .port_numbers(port_numbers),
        .write_group(write_group), .group_index(group_index), .group_first(group_first),
        .group_count(group_count), .write_copy(write_copy), .copy_index(copy_index), .copy_port(copy_port),
        .copy_rewrite(copy_rewrite), .copy_mac(copy_mac), .copy_addr(copy_addr),
        .copy_udp_port(copy_udp_port),
        .frame(commit), .frame_early(begins_early), .frame_start(begun), .frame_size(measured), .frame_src(user[15:0]),
        .frame_dst(user[31:16]), .frame_group(user[47:32]), .frame_addressed(user[48]),
        .copy_valid(copy_valid), .copy_ready(copy_ready), .send(send), .early(early), .last(last), .port(port),
        .start(start), .size(size), .rewrite(rewrite), .mac(mac), .addr(addr), .udp_port(udp_port),
        .dropped_port(dropped_port), .dropped_group(dropped_group), .pruned(pruned)
    );

    // One beat read per cycle, of a frame that leaves as it comes when it is in; a frame's beats are free when its
    // last copy has read them. What comes and goes nowhere is read as well: only then is it known where it ends.
    wire                enable;       // the pipeline behind the store moves
    reg                 sending;      // in the middle of a copy
    reg  [9:0]          index;        // the beat read next
    wire [15:0]         size_less_one = size - 16'd1;
    wire [9:0]          last_index = size_less_one[15:6];
    wire                go = copy_valid && (sending || !pause);
    wire [9:0]          at = sending ? index : 10'd0;
    wire [15:0]         begins_at = {{(15 - DEPTH_BITS){1'b0}}, start};
    wire [15:0]         place = begins_at + {6'd0, at};
    wire [15:0]         beyond = begins_at + {6'd0, last_index} + 16'd1;
    wire                runs = send || early;  // through its beats
    wire                read = go && runs && enable && place[DEPTH_BITS:0] != filled;
    wire                read_last = ends[place[DEPTH_BITS-1:0]];
    assign copy_ready = runs ? read && read_last : go && enable;
    assign copied = read && send && !sending;

    always @(posedge clk)
        if (rst) begin
            sending <= 1'b0;
            freed <= {(DEPTH_BITS + 1){1'b0}};
        end else begin
            if (read) sending <= !read_last;
            if (copy_ready && last) freed <= early ? place[DEPTH_BITS:0] + 1'b1 : beyond[DEPTH_BITS:0];
        end
    always @(posedge clk) if (read) index <= at + 10'd1;

    (* ram_style = "block" *) reg [576:0] beats [0:(1<<DEPTH_BITS)-1];
    (* ram_style = "distributed" *) reg ends [0:(1<<DEPTH_BITS)-1];  // a frame with this beat
    reg [576:0]      beat;
    reg              beat_valid, beat_rewrite;
    reg [PORTS-1:0]  beat_port;
    reg [15:0]       beat_size, beat_udp_port;
    reg [47:0]       beat_mac;
    reg [31:0]       beat_addr;

    always @(posedge clk) begin
        if (write) beats[write_addr] <= write_beat;
        if (write) ends[write_addr] <= write_beat[576];
        if (enable) begin
            beat <= beats[place[DEPTH_BITS-1:0]];
            beat_rewrite <= rewrite && !sending;
            beat_port <= port;
            beat_size <= size;
            beat_mac <= mac;
            beat_addr <= addr;
            beat_udp_port <= udp_port;
        end
    end
    always @(posedge clk)
        if (rst) beat_valid <= 1'b0;
        else if (enable) beat_valid <= read && send;

    wire                out_valid, out_ready;
    wire [576:0]        out_beat;
    wire [PORTS+15:0]   out_user;

    olaf_box_rewrite #(.USER_BITS(PORTS + 16)) rewriter (
        .clk(clk), .rst(rst), .enable(enable),
        .in_valid(beat_valid), .in_rewrite(beat_rewrite), .in_mac(beat_mac), .in_addr(beat_addr),
        .in_port(beat_udp_port), .in_beat(beat), .in_user({beat_port, beat_size}),
        .out_valid(out_valid), .out_beat(out_beat), .out_user(out_user)
    );
    assign enable = !out_valid || out_ready;

    olaf_box_slice #(.WIDTH(577 + PORTS + 16)) slice (
        .clk(clk), .rst(rst),
        .s_beat({out_user, out_beat}), .s_valid(out_valid), .s_ready(out_ready),
        .m_beat({m_port, m_size, m_tlast, m_tkeep, m_tdata}), .m_valid(m_tvalid), .m_ready(m_tready)
    );

    // A copy is on its way from its first beat read to its last beat taken.
    reg leaving;
    always @(posedge clk)
        if (rst) leaving <= 1'b0;
        else if (m_tvalid && m_tready) leaving <= !m_tlast;
    reg [2:0] settled; // cycles without a beat anywhere in the pipeline
    wire quiet = !sending && !read && !beat_valid && !out_valid && !m_tvalid && !leaving;
    always @(posedge clk)
        if (rst || !quiet) settled <= 3'd0;
        else if (!settled[2]) settled <= settled + 3'd1;
    assign resting = settled[2];

    wire unused = &{1'b0, dropped_full, finish, place, beyond, size_less_one[5:0]};
endmodule
`default_nettype wire
