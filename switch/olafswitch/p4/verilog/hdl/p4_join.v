// Puts each frame together again: bytes that the program wrote in place of those that came, and what follows
// byte SPLIT moved by DELTA bytes, of the shift that the result chooses. Results and frames are in one order.
// A frame of which nothing is left is dropped: no beat without a byte leaves.
`default_nettype none
module p4_join #(
    parameter BEATS = 1,              // beats in which bytes may be written
    parameter SIDE = 1,               // bits that leave with a frame
    parameter SHIFTS = 1,
    parameter [16*SHIFTS-1:0] SPLITS = 0,
    parameter [16*SHIFTS-1:0] DELTAS = 0 // signed, between -63 and 63
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [519:0]         beat,      // last, bytes (1 … 64), data
    input  wire                 beat_valid,
    output wire                 beat_ready,

    input  wire [64*BEATS-1:0]  written,   // bytes
    input  wire [512*BEATS-1:0] bytes,
    input  wire [SHIFTS-1:0]    shift,     // at most one
    input  wire                 drop,
    input  wire [SIDE-1:0]      side,
    input  wire                 result_valid,
    output wire                 done,      // the result was used; the frame's last beat has come in
    output wire [15:0]          length,    // of the frame as it came, with `done`
    input  wire                 hold,      // no frame may be done now

    output reg  [511:0]         m_tdata,
    output reg  [63:0]          m_tkeep,
    output reg                  m_tlast,
    output reg                  m_tvalid,
    input  wire                 m_tready,
    output reg  [SIDE-1:0]      m_side
);
    // The beat at hand, the one before it, and the one after it as it is in the store.
    reg  [511:0] here, previous;
    reg  [6:0]   size;
    reg          last, valid, over, skip;
    reg  [9:0]   number;               // of the beat that leaves, in its frame
    reg  [15:0]  passed;               // bytes of the frame in front of the beat at hand
    reg  [6:0]   rest;                 // bytes that leave after its last beat
    wire [6:0]   after_size = beat[518:512];
    wire         after_last = beat[519];

    reg signed [15:0] delta;
    integer           s;
    always @* begin
        delta = 16'sd0;
        for (s = 0; s < SHIFTS; s = s + 1) if (shift[s]) delta = delta | $signed(DELTAS[16*s +: 16]);
    end
    wire signed [15:0] total = $signed({9'd0, size}) + delta;
    wire signed [15:0] ahead = $signed({9'd0, after_size}) + delta;
    wire               needs = delta < 0 && !last && !over;
    wire               free = !m_tvalid || m_tready;
    wire               go = valid && result_valid && (!needs || beat_valid) && !hold && (free || drop || skip);
    wire               ends_early = needs && after_last && ahead <= 0;
    wire               grows = last && total > 64;
    wire               ends = over || (last && !grows);
    // What leaves in front of SPLIT is left, so only a shift that takes bytes from the beginning on can leave nothing.
    function takes_all(input integer first);
        integer n;
        begin
            takes_all = 1'b0;
            for (n = first; n < SHIFTS; n = n + 1)
                if (DELTAS[16*n+15] && SPLITS[16*n +: 16] == 16'd0) takes_all = 1'b1;
        end
    endfunction
    localparam         TAKES_ALL = takes_all(0);
    wire               empty = TAKES_ALL && last && !over && total == 0;
    wire               send = go && !drop && !skip && !empty;
    wire               more = go && !drop && !skip && !over && grows;
    wire               next = go && !more;
    assign beat_ready = !valid || next;
    assign done = go && last && !more;
    assign length = passed + {9'd0, size};

    // What leaves: each byte as it came, moved, or written.
    wire [511:0] made;
    genvar       i, j;
    generate
        for (i = 0; i < 64; i = i + 1) begin : byte_
            wire [SHIFTS-1:0] moves;
            wire [8*SHIFTS-1:0] moved;
            for (j = 0; j < SHIFTS; j = j + 1) begin : from
                localparam integer SPLIT = {16'd0, SPLITS[16*j +: 16]};
                localparam integer DELTA = {{16{DELTAS[16*j+15]}}, DELTAS[16*j +: 16]};
                localparam integer AT = i - DELTA;
                assign moves[j] = shift[j] && ({22'd0, number} > SPLIT / 64 || ({22'd0, number} == SPLIT / 64 && i >= SPLIT % 64));
                if (AT < 0) begin : earlier
                    assign moved[8*j +: 8] = previous[8*(AT+64) +: 8];
                end else if (AT > 63) begin : later
                    assign moved[8*j +: 8] = beat[8*(AT-64) +: 8];
                end else begin : now
                    assign moved[8*j +: 8] = here[8*AT +: 8];
                end
            end
            reg [7:0] picked;
            integer k;
            always @* begin
                picked = |moves ? 8'd0 : here[8*i +: 8];
                for (k = 0; k < SHIFTS; k = k + 1) picked = picked | ({8{moves[k]}} & moved[8*k +: 8]);
                for (k = 0; k < BEATS; k = k + 1)
                    if ({22'd0, number} == k && written[64*k + i]) picked = bytes[8*(64*k + i) +: 8];
            end
            assign made[8*i +: 8] = picked;
        end
    endgenerate
    wire [6:0] sent = over ? rest : ends_early ? ahead[6:0] + 7'd64 : ends ? total[6:0] : 7'd64;
    wire       finish = ends || ends_early;

    wire unused = &{1'b0, previous};

    always @(posedge clk) begin
        if (free) m_tvalid <= send;
        if (send) begin
            m_tdata <= made;
            m_tkeep <= ~({64{1'b1}} << sent);
            m_tlast <= finish;
            m_side <= side;
        end
        if (more) begin
            over <= 1'b1;
            rest <= total[6:0] - 7'd64;
        end
        if (next) over <= 1'b0;
        if (go) begin
            previous <= here;
            number <= number + {9'd0, ~&number};
        end
        if (go && ends_early && !drop) skip <= 1'b1;
        if (next) begin
            passed <= passed + {9'd0, size};
            if (last) begin
                number <= 10'd0;
                passed <= 16'd0;
                skip <= 1'b0;
            end
        end
        if (beat_ready) begin
            {last, size, here} <= beat;
            valid <= beat_valid;
        end
        if (rst) begin
            m_tvalid <= 1'b0;
            valid <= 1'b0;
            over <= 1'b0;
            skip <= 1'b0;
            number <= 10'd0;
            passed <= 16'd0;
        end
    end
endmodule
`default_nettype wire
