// The way past the queue: a plain FIFO for ACKs and everything that is not an update.
//
// A frame is let in when its declared size has room, else dropped whole: so a congested output never
// holds up updates behind it. Only a frame that goes on beyond the size it declared can make the input
// wait, and only until the output moves.
`default_nettype none
`include "olaf_layout.vh"
module olaf_bypass #(
    parameter DEPTH_BITS = 9  // 512 beats: three jumbo frames and more
) (
    input  wire         clk,
    input  wire         rst,

    input  wire         in_valid,
    output wire         in_ready,
    input  wire         in_first,
    input  wire         in_last,
    input  wire [`OLAF_BEAT_BITS-1:0]  in_data,
    input  wire [`OLAF_BEAT_BYTES-1:0] in_keep,
    input  wire [`OLAF_TUSER_BITS-1:0] in_user,
    output wire         admits /* verilator public_flat_rd */,   // a frame is let in
    output wire         accepted,   // and came in to its end
    output wire         dropped,    // or was dropped, to its end

    output wire         out_valid,
    output wire         out_first,
    output wire         out_last,
    input  wire         out_read,   // its data follow two cycles later
    output wire [`OLAF_BEAT_BITS-1:0]  out_data,
    output wire [`OLAF_BEAT_BYTES-1:0] out_keep,
    output wire [`OLAF_TUSER_BITS-1:0] out_user,
    output wire         mid      // in the middle of a frame
);
    localparam WIDTH = `OLAF_BEAT_BITS + `OLAF_BEAT_BYTES + `OLAF_TUSER_BITS;

    (* ram_style = "block" *) reg [WIDTH-1:0] beats [0:(1<<DEPTH_BITS)-1];
    reg lasts [0:(1<<DEPTH_BITS)-1];

    reg [DEPTH_BITS-1:0] write_at, read_at;
    reg [DEPTH_BITS:0]   count;
    reg [WIDTH-1:0]      latch, head;
    reg                  refusing;
    reg                  mid_frame;

    wire [16:0] room = {{(16-DEPTH_BITS){1'b0}}, {1'b1, {DEPTH_BITS{1'b0}}} - count};
    wire [16:0] wanted = ({1'b0, in_user[`OLAF_TUSER_SIZE]} + 17'd63) >> 6;
    wire refuse = in_first ? room < (wanted == 17'd0 ? 17'd1 : wanted) : refusing;
    wire full = count[DEPTH_BITS];
    wire refuses /* verilator public_flat_rd */;
    assign admits = in_valid && in_first && in_ready && !refuse;
    assign refuses = in_valid && in_first && refuse;
    wire unused = &{1'b0, refuses};

    assign in_ready = refuse || !full;
    wire store = in_valid && !refuse && !full;
    assign accepted = store && in_last;
    assign dropped = in_valid && refuse && in_last;

    assign out_valid = count != 0;
    assign out_first = !mid_frame;
    assign out_last = lasts[read_at];
    assign mid = mid_frame;
    assign {out_data, out_keep, out_user} = head;

    always @(posedge clk) begin
        if (store) beats[write_at] <= {in_data, in_keep, in_user};
        if (store) lasts[write_at] <= in_last;
        if (out_read) latch <= beats[read_at];
        head <= latch;
        if (in_valid && in_ready) refusing <= refuse;
    end

    always @(posedge clk)
        if (rst) begin
            write_at <= {DEPTH_BITS{1'b0}};
            read_at <= {DEPTH_BITS{1'b0}};
            count <= {(DEPTH_BITS + 1){1'b0}};
            mid_frame <= 1'b0;
        end else begin
            if (store) write_at <= write_at + 1'b1;
            if (out_read) read_at <= read_at + 1'b1;
            if (out_read) mid_frame <= !out_last;
            count <= count + {{DEPTH_BITS{1'b0}}, store} - {{DEPTH_BITS{1'b0}}, out_read};
        end
endmodule
`default_nettype wire
