// Counters of 64 bits: each counts the cycles in which its bit of `count` is set. A snapshot copies all of them at
// one instant, to be read after.
`default_nettype none
module olaf_counters #(
    parameter COUNT = 1
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [COUNT-1:0]    count,
    input  wire                clear,
    input  wire [64*COUNT-1:0] cleared,  // with `clear`: what each goes on from
    input  wire                snapshot,
    output wire [64*COUNT-1:0] now,
    output wire [64*COUNT-1:0] shown     // as of the last snapshot
);
    genvar i;
    generate
        for (i = 0; i < COUNT; i = i + 1) begin : each
            reg [63:0] counter, copy;
            always @(posedge clk) begin
                if (rst) counter <= 64'd0;
                else if (clear) counter <= cleared[64*i +: 64];
                else if (count[i]) counter <= counter + 64'd1;
                if (snapshot) copy <= counter;
            end
            assign now[64*i +: 64] = counter;
            assign shown[64*i +: 64] = copy;
        end
    endgenerate
endmodule
`default_nettype wire
