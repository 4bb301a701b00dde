// Lets updates leave no faster than `rate` bits per cycle (16.16 fixed point; 0: as fast as they can).
//
// Each update that begins to leave adds its bits to a debt that is paid off at the rate; the next may
// begin when nothing is owed. What is overpaid in the last cycle counts for the next update, so the
// rate is exact over a busy period.
`default_nettype none
module olaf_rate_limiter (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] rate,
    input  wire        start,
    input  wire [15:0] size,   // bytes of the update that begins to leave
    output wire        allowed
);
    reg signed [36:0] debt /* verilator public_flat_rw */;

    wire owing = !debt[36] && |debt[35:0];
    assign allowed = rate == 32'd0 || !owing;

    always @(posedge clk)
        if (rst || rate == 32'd0) debt <= 37'sd0;
        else if (start) debt <= debt + $signed({2'd0, size, 19'd0}) - $signed({5'd0, rate});
        else if (owing) debt <= debt - $signed({5'd0, rate});
endmodule
`default_nettype wire
