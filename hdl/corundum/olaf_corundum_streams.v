// Between Corundum's streams and the box's: a lane is a MAC and its interface of the host, and both are front ports.
//
//   MAC i ── in ─▶ box's port i             interface i ── in ─▶ box's port LANES + i   (control traffic of lane 0 ─▶ H2C)
//   MAC i ◀─ out ─ box's port i             interface i ◀─ out ─ box's port LANES + i   (packet-ins ─▶ lane 0)
//
// A frame from the host is completed when its last beat is taken, for the box may merge, copy or drop it: its tag goes
// back once. A frame that the box sends has tag 0, which names no descriptor, and the MAC's completion of it ends here.
`include "olaf_box_map.vh"
`default_nettype none
module olaf_corundum_streams #(
    parameter LANES = 2,          // MACs, each with an interface of the host: 1 … 4
    parameter WIDTH = 512,        // bits of the shell's beats: 512, 256, 128 or 64
    parameter TAG_BITS = 16,      // of the shell's transmit tags
    parameter OUT_BITS = 6,       // log2 of the frames of a lane that can wait for their completion; the shell has 32 out
    parameter TX_USER = 17,       // bits of its transmit tuser: error, then the tag
    parameter RX_USER = 1,        // bits of its receive tuser: error, then what is not used here
    parameter TIME_BITS = 96      // of a completion's time stamp, which is 0
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire                      box_rst_done, // up from the end of the box's reset to the next

    // Frames from the host, and their completions to it.
    input  wire [WIDTH*LANES-1:0]    s_axis_sync_tx_tdata,
    input  wire [WIDTH/8*LANES-1:0]  s_axis_sync_tx_tkeep,
    input  wire [TX_USER*LANES-1:0]  s_axis_sync_tx_tuser,
    input  wire [LANES-1:0]          s_axis_sync_tx_tlast,
    input  wire [LANES-1:0]          s_axis_sync_tx_tvalid,
    output wire [LANES-1:0]          s_axis_sync_tx_tready,
    output wire [TIME_BITS*LANES-1:0] m_axis_sync_tx_cpl_ts,
    output wire [TAG_BITS*LANES-1:0] m_axis_sync_tx_cpl_tag,
    output wire [LANES-1:0]          m_axis_sync_tx_cpl_valid,
    input  wire [LANES-1:0]          m_axis_sync_tx_cpl_ready,

    // To the MACs.
    output wire [WIDTH*LANES-1:0]    m_axis_sync_tx_tdata,
    output wire [WIDTH/8*LANES-1:0]  m_axis_sync_tx_tkeep,
    output wire [TX_USER*LANES-1:0]  m_axis_sync_tx_tuser,
    output wire [LANES-1:0]          m_axis_sync_tx_tlast,
    output wire [LANES-1:0]          m_axis_sync_tx_tvalid,
    input  wire [LANES-1:0]          m_axis_sync_tx_tready,
    output wire [LANES-1:0]          s_axis_sync_tx_cpl_ready,

    // From the MACs.
    input  wire [WIDTH*LANES-1:0]    s_axis_sync_rx_tdata,
    input  wire [WIDTH/8*LANES-1:0]  s_axis_sync_rx_tkeep,
    input  wire [RX_USER*LANES-1:0]  s_axis_sync_rx_tuser,
    input  wire [LANES-1:0]          s_axis_sync_rx_tlast,
    input  wire [LANES-1:0]          s_axis_sync_rx_tvalid,
    output wire [LANES-1:0]          s_axis_sync_rx_tready,

    // To the host.
    output wire [WIDTH*LANES-1:0]    m_axis_sync_rx_tdata,
    output wire [WIDTH/8*LANES-1:0]  m_axis_sync_rx_tkeep,
    output wire [RX_USER*LANES-1:0]  m_axis_sync_rx_tuser,
    output wire [LANES-1:0]          m_axis_sync_rx_tlast,
    output wire [LANES-1:0]          m_axis_sync_rx_tvalid,
    input  wire [LANES-1:0]          m_axis_sync_rx_tready,

    // The box's ports, MACs first, and above them its H2C and C2H.
    output wire [512*(2*LANES+1)-1:0] to_box_tdata,
    output wire [64*(2*LANES+1)-1:0] to_box_tkeep,
    output wire [2*LANES:0]          to_box_tlast,
    output wire [2*LANES:0]          to_box_tvalid,
    input  wire [2*LANES:0]          to_box_tready,
    input  wire [512*(2*LANES+1)-1:0] of_box_tdata,
    input  wire [64*(2*LANES+1)-1:0] of_box_tkeep,
    input  wire [2*LANES:0]          of_box_tlast,
    input  wire [2*LANES:0]          of_box_tvalid,
    output wire [2*LANES:0]          of_box_tready
);
    localparam HOST = 2 * LANES;    // H2C and C2H
    localparam [OUT_BITS:0] MOST = (1 << OUT_BITS) - 1;

    // What the box still sends of the time before a reset goes nowhere: the shell has forgotten the beginning of a frame,
    // and where it keeps a queue's state in RAM, it would fetch a descriptor that the host has taken back.
    reg  was_done, waits;           // for the end of the box's reset, which begins some cycles after the shell's
    initial {was_done, waits} = 2'd0;
    always @(posedge clk) begin
        was_done <= box_rst_done;
        waits <= rst || (waits && (was_done || !box_rst_done));
    end
    wire stale = rst || waits || !box_rst_done;
    wire [2*LANES:0] cut, rest, whole_tvalid, whole_tready;
    assign of_box_tready = (whole_tready | cut | {(2*LANES+1){stale}}) & {(2*LANES+1){!rst}};
    assign whole_tvalid = of_box_tvalid & ~cut & {(2*LANES+1){!stale}};

    wire [511:0] host_tdata;
    wire [63:0]  host_tkeep;
    wire         host_tlast, host_tvalid, host_tready, host_tuser;
    olaf_box_arbiter #(.INPUTS(2)) arbiter (
        .clk(clk), .rst(rst),
        .s_tdata({of_box_tdata[512*HOST +: 512], of_box_tdata[512*LANES +: 512]}),
        .s_tkeep({of_box_tkeep[64*HOST +: 64], of_box_tkeep[64*LANES +: 64]}), .s_tuser(2'd0),
        .s_tlast({of_box_tlast[HOST], of_box_tlast[LANES]}),
        .s_tvalid({whole_tvalid[HOST], whole_tvalid[LANES]}), .s_tready({whole_tready[HOST], whole_tready[LANES]}),
        .m_tdata(host_tdata), .m_tkeep(host_tkeep), .m_tuser(host_tuser), .m_tlast(host_tlast),
        .m_tvalid(host_tvalid), .m_tready(host_tready)
    );

    // Control traffic goes by its EtherType, which is in a frame's first beat.
    wire is_control = {to_box_tdata[512*LANES+8*12 +: 8], to_box_tdata[512*LANES+8*13 +: 8]} == `OLAF_BOX_HOST_ETHER_TYPE;
    wire first_tvalid, first_tready;
    reg  mid_frame, was_control;    // as the box has it: no reset restarts it
    initial {mid_frame, was_control} = 2'd0;
    wire control = mid_frame ? was_control : is_control;
    always @(posedge clk)
        if (first_tvalid && first_tready) begin
            mid_frame <= !to_box_tlast[LANES];
            was_control <= control;
        end
    assign to_box_tdata[512*HOST +: 512] = to_box_tdata[512*LANES +: 512];
    assign to_box_tkeep[64*HOST +: 64] = to_box_tkeep[64*LANES +: 64];
    assign to_box_tlast[HOST] = to_box_tlast[LANES];
    assign to_box_tvalid[HOST] = first_tvalid && control;
    assign to_box_tvalid[LANES] = first_tvalid && !control;
    assign first_tready = control ? to_box_tready[HOST] : to_box_tready[LANES];

    genvar i;
    generate
        for (i = 0; i <= 2 * LANES; i = i + 1) begin : sent
            olaf_box_cut cuts (
                .clk(clk), .rst(stale), .take(of_box_tvalid[i] && of_box_tready[i]), .last(of_box_tlast[i]),
                .cut(cut[i]), .dropped(rest[i])
            );
        end
        for (i = 0; i < LANES; i = i + 1) begin : lane
            olaf_corundum_in #(.WIDTH(WIDTH)) mac_in (
                .clk(clk), .rst(rst),
                .s_tdata(s_axis_sync_rx_tdata[WIDTH*i +: WIDTH]), .s_tkeep(s_axis_sync_rx_tkeep[WIDTH/8*i +: WIDTH/8]),
                .s_error(s_axis_sync_rx_tuser[RX_USER*i]), .s_tlast(s_axis_sync_rx_tlast[i]),
                .s_tvalid(s_axis_sync_rx_tvalid[i]), .s_tready(s_axis_sync_rx_tready[i]),
                .m_tdata(to_box_tdata[512*i +: 512]), .m_tkeep(to_box_tkeep[64*i +: 64]), .m_tlast(to_box_tlast[i]),
                .m_tvalid(to_box_tvalid[i]), .m_tready(to_box_tready[i])
            );

            wire              room, ready, in_tvalid, in_tready;
            wire [OUT_BITS:0] level;
            assign room = level < MOST;
            assign s_axis_sync_tx_tready[i] = ready && room;
            olaf_corundum_in #(.WIDTH(WIDTH)) host_in (
                .clk(clk), .rst(rst),
                .s_tdata(s_axis_sync_tx_tdata[WIDTH*i +: WIDTH]), .s_tkeep(s_axis_sync_tx_tkeep[WIDTH/8*i +: WIDTH/8]),
                .s_error(s_axis_sync_tx_tuser[TX_USER*i]), .s_tlast(s_axis_sync_tx_tlast[i]),
                .s_tvalid(s_axis_sync_tx_tvalid[i] && room), .s_tready(ready),
                .m_tdata(to_box_tdata[512*(LANES+i) +: 512]), .m_tkeep(to_box_tkeep[64*(LANES+i) +: 64]),
                .m_tlast(to_box_tlast[LANES+i]), .m_tvalid(in_tvalid), .m_tready(in_tready)
            );
            p4_fifo #(.WIDTH(TAG_BITS), .BITS(OUT_BITS)) tags (
                .clk(clk), .rst(rst),
                .s_data(s_axis_sync_tx_tuser[TX_USER*i+1 +: TAG_BITS]),
                .s_valid(s_axis_sync_tx_tvalid[i] && s_axis_sync_tx_tready[i] && s_axis_sync_tx_tlast[i]),
                .m_data(m_axis_sync_tx_cpl_tag[TAG_BITS*i +: TAG_BITS]), .m_valid(m_axis_sync_tx_cpl_valid[i]),
                .m_ready(m_axis_sync_tx_cpl_ready[i]), .level(level)
            );

            olaf_corundum_out #(.WIDTH(WIDTH)) mac_out (
                .clk(clk), .rst(rst),
                .s_tdata(of_box_tdata[512*i +: 512]), .s_tkeep(of_box_tkeep[64*i +: 64]), .s_tlast(of_box_tlast[i]),
                .s_tvalid(whole_tvalid[i]), .s_tready(whole_tready[i]),
                .m_tdata(m_axis_sync_tx_tdata[WIDTH*i +: WIDTH]), .m_tkeep(m_axis_sync_tx_tkeep[WIDTH/8*i +: WIDTH/8]),
                .m_tlast(m_axis_sync_tx_tlast[i]), .m_tvalid(m_axis_sync_tx_tvalid[i]),
                .m_tready(m_axis_sync_tx_tready[i])
            );

            wire [511:0] out_tdata;
            wire [63:0]  out_tkeep;
            wire         out_tlast, out_tvalid, out_tready;
            olaf_corundum_out #(.WIDTH(WIDTH)) host_out (
                .clk(clk), .rst(rst),
                .s_tdata(out_tdata), .s_tkeep(out_tkeep), .s_tlast(out_tlast), .s_tvalid(out_tvalid),
                .s_tready(out_tready),
                .m_tdata(m_axis_sync_rx_tdata[WIDTH*i +: WIDTH]), .m_tkeep(m_axis_sync_rx_tkeep[WIDTH/8*i +: WIDTH/8]),
                .m_tlast(m_axis_sync_rx_tlast[i]), .m_tvalid(m_axis_sync_rx_tvalid[i]),
                .m_tready(m_axis_sync_rx_tready[i])
            );
            if (i == 0) begin : shared
                assign {first_tvalid, in_tready} = {in_tvalid, first_tready};
                assign {out_tdata, out_tkeep, out_tlast, out_tvalid} = {host_tdata, host_tkeep, host_tlast, host_tvalid};
                assign host_tready = out_tready;
            end else begin : own
                assign {to_box_tvalid[LANES+i], in_tready} = {in_tvalid, to_box_tready[LANES+i]};
                assign {out_tdata, out_tkeep} = {of_box_tdata[512*(LANES+i) +: 512], of_box_tkeep[64*(LANES+i) +: 64]};
                assign {out_tlast, out_tvalid} = {of_box_tlast[LANES+i], whole_tvalid[LANES+i]};
                assign whole_tready[LANES+i] = out_tready;
            end
        end
    endgenerate
    assign s_axis_sync_tx_cpl_ready = {LANES{1'b1}};
    assign m_axis_sync_tx_cpl_ts = {(TIME_BITS*LANES){1'b0}};
    assign m_axis_sync_tx_tuser = {(TX_USER*LANES){1'b0}};
    assign m_axis_sync_rx_tuser = {(RX_USER*LANES){1'b0}};
    wire unused = &{1'b0, host_tuser, rest, s_axis_sync_rx_tuser, s_axis_sync_tx_tuser};
endmodule
`default_nettype wire
