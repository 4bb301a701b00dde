// A FIFO that knows how long each frame is from its first beat on: it stores each whole, but of an update longer
// than HOLD beats only so many, which give its length.
`default_nettype none
module olaf_box_measure #(
    parameter DEPTH_BITS = 9,      // log2 of the beats it holds
    parameter MAX_BYTES = 9216,    // the longest frame let through
    parameter USER_BITS = 1,       // what travels with a frame
    parameter DROP_WHEN_FULL = 0,  // 1: never makes the input wait
    parameter OUTSIDE = 1,         // 1: what feeds this is not reset with it
    parameter HOLD = 0,            // beats of an update that are stored before it may leave; 0: all are
    parameter PATIENCE = 1024      // cycles that the remainder of a leaving frame may take
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [511:0]         s_tdata,
    input  wire [63:0]          s_tkeep,
    input  wire [USER_BITS-1:0] s_tuser,
    input  wire                 s_tlast,
    input  wire                 s_tvalid,
    output wire                 s_tready,

    output wire [511:0]         m_tdata,
    output wire [63:0]          m_tkeep,
    output wire [USER_BITS-1:0] m_tuser,
    output wire [15:0]          m_size,    // bytes of the frame, all along it
    output wire                 m_tlast,
    output reg                  m_tvalid,
    input  wire                 m_tready,

    output wire                 accepted,
    output wire                 dropped_oversize,
    output wire                 dropped_malformed,
    output wire                 dropped_full,
    output wire                 dropped_cut
);
    wire                  write, commit;
    wire [DEPTH_BITS-1:0] write_addr;
    wire [576:0]          write_beat;
    wire [DEPTH_BITS:0]   start, finish, filled;
    wire                  early;
    wire [15:0]           size;
    wire [USER_BITS-1:0]  user;
    reg  [DEPTH_BITS:0]   at;       // the next beat to read
    reg  [DEPTH_BITS:0]   readable; // the end of what may be read
    wire [15:0]           declared;

    olaf_box_declared declares (.data(s_tdata), .bytes(declared));

    wire cut;
    generate
        if (OUTSIDE != 0) begin : fed_from_outside
            olaf_box_cut cuts (
                .clk(clk), .rst(rst), .take(s_tvalid && s_tready), .last(s_tlast), .cut(cut), .dropped(dropped_cut)
            );
        end else begin : reset_with_its_source
            assign cut = 1'b0;
            assign dropped_cut = 1'b0;
        end
    endgenerate

    olaf_box_intake #(
        .DEPTH_BITS(DEPTH_BITS), .MAX_BYTES(MAX_BYTES), .USER_BITS(USER_BITS),
        .DROP_WHEN_FULL(DROP_WHEN_FULL), .HOLD(HOLD), .BINDS(0), .PATIENCE(PATIENCE)
    ) intake (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tuser(s_tuser), .s_declared(HOLD == 0 ? 16'd0 : declared),
        .s_tlast(s_tlast), .s_tvalid(s_tvalid && !cut), .s_tready(s_tready),
        .write(write), .write_addr(write_addr), .write_beat(write_beat),
        .commit(commit), .commit_early(early), .commit_start(start), .commit_end(finish), .filled(filled),
        .commit_size(size), .commit_user(user), .freed(at),
        .accepted(accepted), .dropped_oversize(dropped_oversize), .dropped_malformed(dropped_malformed),
        .dropped_full(dropped_full)
    );

    // What is known of a whole frame is kept under the place of its first beat.
    (* ram_style = "block" *) reg [576:0]              beats [0:(1<<DEPTH_BITS)-1];
    (* ram_style = "block" *) reg [16+USER_BITS-1:0]   known [0:(1<<DEPTH_BITS)-1];
    reg [576:0]            beat;
    reg [16+USER_BITS-1:0] frame;
    reg                    fresh; // no beat was read yet: the next one is a frame's first

    wire step = !m_tvalid || m_tready;
    wire read = step && at != readable;
    wire first = fresh || m_tlast;

    always @(posedge clk) begin
        if (write) beats[write_addr] <= write_beat;
        if (commit) known[start[DEPTH_BITS-1:0]] <= {user, size};
        if (read) beat <= beats[at[DEPTH_BITS-1:0]];
        if (read && first) frame <= known[at[DEPTH_BITS-1:0]];
    end

    always @(posedge clk)
        if (rst) begin
            at <= {(DEPTH_BITS + 1){1'b0}};
            readable <= {(DEPTH_BITS + 1){1'b0}};
            fresh <= 1'b1;
            m_tvalid <= 1'b0;
        end else begin
            if (write && (commit || early)) readable <= finish;
            if (step) m_tvalid <= read;
            if (read) begin
                at <= at + 1'b1;
                fresh <= 1'b0;
            end
        end

    assign {m_tlast, m_tkeep, m_tdata} = beat;
    assign {m_tuser, m_size} = frame;
    wire unused = &{1'b0, start[DEPTH_BITS], filled, declared};
endmodule
`default_nettype wire
