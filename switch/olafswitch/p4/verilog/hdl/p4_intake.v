// Takes frames in: every beat goes to a store, the first BEATS beats, or all of a shorter frame, to the header
// pipeline. A frame enters only when its result will have room.
`default_nettype none
module p4_intake #(
    parameter BEATS = 2,              // beats of a frame that the program looks at
    parameter SIDE = 1,               // bits that come with a frame's first beat
    parameter STORE_BITS = 6,         // log2 of the beats stored
    parameter CREDIT_BITS = 5         // log2 of the frames in the pipeline
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire [511:0]          s_tdata,
    input  wire [63:0]           s_tkeep,
    input  wire                  s_tlast,
    input  wire                  s_tvalid,
    output wire                  s_tready,
    input  wire [SIDE-1:0]       s_side,

    output reg  [512*BEATS-1:0]  window,       // byte 0 in the lowest bits; a beat's bytes are its first
    output reg  [15:0]           window_bytes, // of the frame that are in it
    output reg  [SIDE-1:0]       window_side,
    output reg                   window_valid,

    input  wire                  pause,        // take nothing
    output wire [519:0]          store,        // last, bytes (1 … 64), data
    output wire                  store_valid,
    input  wire [STORE_BITS:0]   store_level,
    input  wire                  leave,        // a frame's result was used
    output wire [CREDIT_BITS:0]  present       // frames that entered and whose result was not
);
    wire credit;
    reg  space, first;
    assign s_tready = space && credit;
    wire take = s_tvalid && s_tready;
    p4_credits #(.BITS(CREDIT_BITS)) credits (
        .clk(clk), .rst(rst), .enter(take && first), .leave(leave), .ready(credit), .present(present)
    );

    reg [511:0]    data;
    reg [63:0]     keep;
    reg            last, valid, first_beat;
    reg [SIDE-1:0] side;
    reg [6:0]      bytes;
    integer        b;
    always @* begin
        bytes = 7'd0;
        for (b = 1; b < 65; b = b + 1)
            bytes = bytes | ({7{keep[b-1] && (b == 64 || !keep[b & 63])}} & b[6:0]);
    end
    always @(posedge clk) begin
        space <= !rst && !pause && store_level < (1 << STORE_BITS) - 6;
        if (rst) first <= 1'b1;
        else if (take) first <= s_tlast;
        data <= s_tdata;
        keep <= s_tkeep;
        last <= s_tlast;
        first_beat <= first;
        side <= s_side;
        valid <= take && !rst;
    end
    assign store = {last, bytes, data};
    assign store_valid = valid;

    // Beats of this frame that the window has already; BEATS when it is full.
    reg  [3:0] had;
    wire [3:0] at = first_beat ? 4'd0 : had;
    integer    i;
    always @(posedge clk) begin
        window_valid <= 1'b0;
        if (valid && at < BEATS) begin
            for (i = 0; i < BEATS; i = i + 1)
                if (at == i[3:0]) window[512*i +: 512] <= data;
            window_bytes <= {6'd0, at, 6'd0} + {9'd0, bytes};
            if (first_beat) window_side <= side;
            window_valid <= (last || at == BEATS - 1) && !rst;
        end
        if (valid) had <= at == BEATS ? at : at + 4'd1;
        if (rst) had <= 4'd0;
    end
endmodule
`default_nettype wire
