// Takes a stream into a ring of beats and measures each frame on the way.
//
// A frame's size is that of its tkeep, never the one that came with it: the shell's sizes shift by a frame after
// a receive error. A frame becomes visible to the reader when its last beat is in the ring; one that proves
// too long or has a hole in its tkeep is taken back as if it had never come.
//
// A frame whose size is known beforehand (`s_declared`) need not wait: it becomes visible when HOLD of its beats
// are in and more are to come. What is visible cannot be taken back: should it prove bad, or its next beat not
// come in time, it ends there with a beat of one byte, so that it never holds up other frames. Where its size BINDS
// it, it also ends with the beat that shows another one, and counts as malformed; else it passes as it is.
`default_nettype none
module olaf_box_intake #(
    parameter DEPTH_BITS = 9,      // log2 of the ring's beats; the ring must hold MAX_BYTES and 8 beats more
    parameter MAX_BYTES = 9216,    // the longest frame let in
    parameter USER_BITS = 1,       // what comes with a frame, as it is with its last beat
    parameter DROP_WHEN_FULL = 0,  // 1: a frame without room is dropped; 0: the input waits
    parameter HOLD = 0,            // beats of a frame of known size that wait for one more
    parameter BINDS = 1,           // 1: a frame of known size has that size; 0: it is only declared
    parameter PATIENCE = 0         // cycles that the next beat of a visible frame may take to come; 0: for ever
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire [511:0]          s_tdata,
    input  wire [63:0]           s_tkeep,
    input  wire [USER_BITS-1:0]  s_tuser,
    input  wire [15:0]           s_declared,   // with a frame's first beat: its bytes, or 0 if they are not known
    input  wire                  s_tlast,
    input  wire                  s_tvalid,
    output reg                   s_tready,

    output wire                  write,
    output wire [DEPTH_BITS-1:0] write_addr,
    output wire [576:0]          write_beat,   // tlast, tkeep, tdata

    output wire                  commit,       // a frame is visible, as of the next cycle
    output wire                  commit_early, // and more of it comes
    output reg  [DEPTH_BITS:0]   commit_start, // its first beat; one bit more than an address
    output wire [DEPTH_BITS:0]   commit_end,   // the place after its last beat, if it is whole
    output reg  [DEPTH_BITS:0]   filled,       // the place after the last beat that is in
    output wire [15:0]           commit_size,  // bytes
    output wire [USER_BITS-1:0]  commit_user,
    input  wire [DEPTH_BITS:0]   freed,        // beats before this one are not needed any more

    output wire                  accepted,     // a frame came whole; at its end, as these
    output wire                  dropped_oversize,
    output wire                  dropped_malformed,
    output wire                  dropped_full
);
    localparam MAX_BEATS = (MAX_BYTES + 63) / 64;
    localparam [DEPTH_BITS:0] BEATS = 1 << DEPTH_BITS;
    localparam [DEPTH_BITS:0] IN_FLIGHT = 6; // beats that may still come when s_tready falls

    wire                 b_valid;
    wire [576:0]         b_beat;
    wire [USER_BITS-1:0] b_user;
    wire [6:0]           b_bytes;
    wire                 b_whole;
    olaf_box_count #(.USER_BITS(USER_BITS)) counts (
        .clk(clk), .rst(rst),
        .s_valid(s_tvalid && s_tready), .s_beat({s_tlast, s_tkeep, s_tdata}), .s_user(s_tuser),
        .m_valid(b_valid), .m_beat(b_beat), .m_user(b_user), .m_bytes(b_bytes), .m_whole(b_whole)
    );
    reg [15:0] a_declared, b_declared;
    reg        b_known;   // its size is known, and within the limit
    always @(posedge clk) begin
        a_declared <= s_declared;
        b_declared <= a_declared;
        b_known <= a_declared != 16'd0 && {16'd0, a_declared} <= MAX_BYTES;
    end

    // The frame so far.
    reg [15:0]         beats;
    reg [15:0]         bytes;
    reg                malformed, oversize, starved;
    reg                begun;    // its first beat is in
    reg                known;    // its size is declared,
    reg [15:0]         declared; // so
    reg                early;    // it is visible before its end
    reg [15:0]         waited;   // cycles in which its next beat could have come

    wire               last = b_beat[576];
    wire [DEPTH_BITS:0] used = filled - freed;
    wire               full = used == BEATS;
    wire [15:0]        total = bytes + {9'd0, b_bytes};
    wire [15:0]        due = begun ? declared : b_declared;
    wire               sized = begun ? known : b_known;
    wire               unlike = last ? total != due : total >= due;
    wire               now_malformed = malformed || !b_whole || (BINDS != 0 && sized && unlike);
    wire               now_oversize = oversize || {16'd0, beats} >= MAX_BEATS || {16'd0, total} > MAX_BYTES;
    wire               now_starved = starved || full;
    wire               good = !now_malformed && !now_oversize && !now_starved;
    wire               opens = {16'd0, beats} == HOLD && sized && !unlike && (HOLD == 0 || !last);   // if it is good

    localparam [15:0]  LONGEST = PATIENCE;
    wire               spoilt = malformed || oversize;   // and ended, if it was visible
    wire               spoils = now_malformed || now_oversize;
    wire               lapse = PATIENCE != 0 && waited == LONGEST && !b_valid;
    wire               stub = lapse || (BINDS == 0 && early && spoils);
    wire               ends = last || stub || (early && spoils); // as the ring has it

    assign write = lapse || (b_valid && (early ? !spoilt : good));
    assign write_addr = filled[DEPTH_BITS-1:0];
    assign write_beat = {ends, stub ? 64'd1 : b_beat[575:512], b_beat[511:8], stub ? 8'd0 : b_beat[7:0]};
    assign commit = b_valid && good && !early && (opens || last);
    assign commit_early = early || opens;
    assign commit_end = filled + 1'b1;
    assign commit_size = opens ? due : total;
    assign commit_user = b_user;
    assign accepted = b_valid && last && good;
    assign dropped_oversize = b_valid && last && now_oversize;
    assign dropped_malformed = b_valid && last && now_malformed && !now_oversize;
    assign dropped_full = b_valid && last && now_starved && !now_malformed && !now_oversize;

    always @(posedge clk)
        if (b_valid && !begun) begin
            known <= b_known;
            declared <= b_declared;
        end
    always @(posedge clk)
        if (rst) begin
            filled <= {(DEPTH_BITS + 1){1'b0}};
            commit_start <= {(DEPTH_BITS + 1){1'b0}};
            beats <= 16'd0;
            bytes <= 16'd0;
            malformed <= 1'b0;
            oversize <= 1'b0;
            starved <= 1'b0;
            begun <= 1'b0;
            early <= 1'b0;
            waited <= 16'd0;
            s_tready <= 1'b0;
        end else begin
            waited <= PATIENCE == 0 || b_valid || lapse || !early || spoilt ? 16'd0 : waited + {15'd0, s_tready};
            s_tready <= DROP_WHEN_FULL != 0 || used < BEATS - IN_FLIGHT;
            if (b_valid) begin
                filled <= write ? commit_end : last && !early ? commit_start : filled;
                if (write && ends) commit_start <= commit_end;
                begun <= !last;
                early <= !last && (early || (opens && good));
                beats <= last ? 16'd0 : now_oversize ? beats : beats + 16'd1;
                bytes <= last ? 16'd0 : now_oversize ? bytes : total;
                malformed <= !last && now_malformed;
                oversize <= !last && now_oversize;
                starved <= !last && now_starved;
            end else if (lapse) begin
                filled <= commit_end;
                commit_start <= commit_end;
                malformed <= 1'b1;
            end
        end

`ifndef SYNTHESIS
    initial
        if (MAX_BEATS + 8 > (1 << DEPTH_BITS)) begin
            $display("olaf_box_intake: %0d beats cannot hold a frame of %0d bytes", 1 << DEPTH_BITS, MAX_BYTES);
            $stop;
        end
    always @(posedge clk)
        if (!rst && DROP_WHEN_FULL == 0 && dropped_full) begin
            $display("olaf_box_intake: a beat came when there was no room, though s_tready was low in time");
            $stop;
        end
`endif
endmodule
`default_nettype wire
