// After a reset, in front of what the neighbour goes on to feed with a frame that it began before: what is left of that
// frame is cut off.
`default_nettype none
module olaf_box_cut (
    input  wire clk,
    input  wire rst,
    input  wire take,      // a beat is taken
    input  wire last,
    output reg  cut,       // it is within the remainder
    output wire dropped    // and the last one
);
    reg mid_frame;   // where the neighbour is in its frame; no reset restarts it
    initial mid_frame = 1'b0;
    assign dropped = take && cut && last;
    always @(posedge clk) begin
        if (take) mid_frame <= !last;
        if (rst) cut <= mid_frame;
        else if (take && last) cut <= 1'b0;
    end
endmodule
`default_nettype wire
