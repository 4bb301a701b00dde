// Lets updates leave no faster than `rate` bits per cycle (16.16 fixed point; 0: as fast as they can).
//
// Each update that begins to leave adds its bits to a debt that is paid off at the rate; the next may
// begin when nothing is owed. What is overpaid in the last cycle counts for the next update, so the rate
// is exact over a busy period; its credit is at most one cycle's worth.
`include "olaf_layout.vh"
`default_nettype none
module olaf_rate_limiter (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] rate,
    input  wire        start,
    // Bytes of the update that begins to leave: one of these two. Which is known late, so what is owed is known of both.
    input  wire [`OLAF_TUSER_SIZE_WIDTH-1:0] size,
    input  wire [`OLAF_TUSER_SIZE_WIDTH-1:0] other_size,
    input  wire        start_other,
    output wire        allowed
);
    localparam DEBT_BITS = `OLAF_TUSER_SIZE_WIDTH + 21;
    reg signed [DEBT_BITS-1:0] debt /* verilator public_flat_rw */;

    wire owing = !debt[DEBT_BITS-1] && |debt;
    assign allowed = rate == 32'd0 || !owing;

    wire signed [DEBT_BITS-1:0] payment = $signed({{(DEBT_BITS - 32){1'b0}}, rate});
    wire signed [DEBT_BITS-1:0] paid = debt - payment;

    function signed [DEBT_BITS-1:0] charge(input [`OLAF_TUSER_SIZE_WIDTH-1:0] bytes);
        charge = $signed({2'd0, bytes, 19'd0});
    endfunction
    wire signed [DEBT_BITS-1:0] charged = debt + charge(size), charged_other = debt + charge(other_size);
    wire overpaid = charged[DEBT_BITS-1], overpaid_other = charged_other[DEBT_BITS-1];
    wire signed [DEBT_BITS-1:0] owed = paid + charge(size), owed_other = paid + charge(other_size);

    always @(posedge clk)
        if (rst || rate == 32'd0) debt <= {DEBT_BITS{1'b0}};
        else if (start && start_other) debt <= overpaid_other ? -payment : owed_other;
        else if (start) debt <= overpaid ? -payment : owed;
        else if (owing) debt <= paid;

    wire unused = &{1'b0, charged, charged_other};
endmodule
`default_nettype wire
