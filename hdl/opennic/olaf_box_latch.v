// VitisNetP4 shows a frame's metadata with its first beat only: keeps it until the frame ends.
`default_nettype none
module olaf_box_latch #(
    parameter META_BITS = 1
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 tvalid,
    input  wire                 tready,
    input  wire                 tlast,
    input  wire [META_BITS-1:0] shown,      // by the IP
    output wire [META_BITS-1:0] metadata,   // all along the frame
    output reg                  first       // the beat offered is a frame's first
);
    reg [META_BITS-1:0] kept;
    assign metadata = first ? shown : kept;

    always @(posedge clk) begin
        if (rst) first <= 1'b1;
        else if (tvalid && tready) first <= tlast;
        if (first) kept <= shown;
    end
endmodule
`default_nettype wire
