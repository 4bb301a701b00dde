// IEEE 754 binary32 addition: round to nearest, ties to even, or towards an infinity; subnormals in full;
// a NaN result is the canonical quiet NaN 7fc00000. One addition a cycle, LATENCY cycles through.
//
// With `copy`, one operand must be -0 and the other leaves unchanged bit for bit, a NaN too: so headers
// and unmerged payload pass through the same pipeline.
`default_nettype none
module olaf_fp32_add #(
    parameter LATENCY = 4, // 2 … 6 cycles; 4 keeps every step within 12 levels of logic at 250 MHz
    parameter TOWARDS = 0  // rounds to nearest; 1: towards plus infinity, -1: towards minus infinity
) (
    input  wire               clk,
    input  wire [LATENCY-1:0] step,  // step[i]: the i-th register takes a new value
    input  wire               copy,
    input  wire [31:0]        a,
    input  wire [31:0]        b,
    output wire [31:0]        sum
);
    localparam CUT_IN = LATENCY >= 6 ? 1 : 0;
    localparam CUT_SWAP = LATENCY >= 3 ? 1 : 0;
    localparam CUT_ALIGN = LATENCY >= 5 ? 1 : 0;
    localparam CUT_NORM = LATENCY >= 4 ? 1 : 0;
    localparam AT_SWAP = CUT_IN;
    localparam AT_ALIGN = AT_SWAP + CUT_SWAP;
    localparam AT_ADD = AT_ALIGN + CUT_ALIGN;
    localparam AT_NORM = AT_ADD + 1;

    // 0. The operands.
    wire [31:0] x, y;
    wire        plain;
    olaf_stage #(.WIDTH(65), .REGISTERED(CUT_IN)) cut_in (
        .clk(clk), .enable(step[0]),
        .d({copy, a, b}),
        .q({plain, x, y})
    );

    // 1. The larger magnitude first; how far the smaller one's mantissa must move.
    wire        swap = x[30:0] < y[30:0];
    wire [31:0] big = swap ? y : x;
    wire [30:0] lesser = swap ? x[30:0] : y[30:0];
    wire        big_special = &big[30:23];
    wire        big_normal = |big[30:23];
    wire        small_normal = |lesser[30:23];
    wire [7:0]  distance = big[30:23] - lesser[30:23];
    // A subnormal has exponent 1, not 0: next to a normal number that is one place less to move.
    wire [23:0] small_mantissa = small_normal ? {1'b1, lesser[22:0]}
                               : big_normal   ? {lesser[22:0], 1'b0}
                               :                {1'b0, lesser[22:0]};
    wire not_a_number = !plain && (&big[30:23])
                      && (|big[22:0] || ((&lesser[30:23]) && x[31] != y[31]));

    wire        sign_1, subtract_1, special_1, nan_1, normal_1;
    wire [7:0]  exponent_1;
    wire [22:0] fraction_1;
    wire [23:0] small_1;
    wire [4:0]  move_1;
    olaf_stage #(.WIDTH(65), .REGISTERED(CUT_SWAP)) cut_swap (
        .clk(clk), .enable(step[AT_SWAP]),
        .d({big[31], x[31] ^ y[31], big_special, not_a_number, big_normal, big[30:23], big[22:0],
        big_special ? 24'd0 : small_mantissa, |distance[7:5] ? 5'd31 : distance[4:0]}),
        .q({sign_1, subtract_1, special_1, nan_1, normal_1, exponent_1, fraction_1, small_1, move_1})
    );

    // 2. The smaller mantissa in place, with guard, round and sticky bits.
    reg  [26:0] aligned;
    reg         sticky;
    integer     place;
    always @* begin
        aligned = {small_1, 3'd0};
        sticky = 1'b0;
        for (place = 4; place >= 0; place = place - 1)
            if (move_1[place]) begin
                sticky = sticky | |(aligned & ((27'd1 << (1 << place)) - 27'd1));
                aligned = aligned >> (1 << place);
            end
    end

    wire        sign_2, subtract_2, special_2, nan_2, normal_2;
    wire [7:0]  exponent_2;
    wire [22:0] fraction_2;
    wire [26:0] small_2;
    olaf_stage #(.WIDTH(63), .REGISTERED(CUT_ALIGN)) cut_align (
        .clk(clk), .enable(step[AT_ALIGN]),
        .d({sign_1, subtract_1, special_1, nan_1, normal_1, exponent_1, fraction_1, aligned[26:1],
        aligned[0] | sticky}),
        .q({sign_2, subtract_2, special_2, nan_2, normal_2, exponent_2, fraction_2, small_2})
    );

    // 3. The sum, and a mark where a subnormal result's leading bit must stay.
    wire [27:0] large_2 = {1'b0, normal_2, fraction_2, 3'd0};
    wire [27:0] addend_2 = {28{subtract_2}} ^ {1'b0, small_2};
    // The carry in rides below the lowest bit, so that one carry chain does it all.
    wire [27:0] total;
    wire        below;
    assign {total, below} = {large_2, 1'b1} + {addend_2, subtract_2};
    wire [7:0]  effective = normal_2 ? exponent_2 : 8'd1;
    wire [27:0] mark = 28'h8000000 >> effective;

    wire        sign_3, subtract_3, special_3, nan_3;
    wire [7:0]  exponent_3;
    wire [27:0] total_3, mark_3;
    olaf_stage #(.WIDTH(68), .REGISTERED(1)) cut_add (
        .clk(clk), .enable(step[AT_ADD]),
        .d({sign_2, subtract_2, special_2, nan_2, effective, total, mark}),
        .q({sign_3, subtract_3, special_3, nan_3, exponent_3, total_3, mark_3})
    );

    // 4. The leading bit to the top, but no further than the mark.
    wire [27:0] seen = total_3 | mark_3;
    wire [6:0]  any = {|seen[27:24], |seen[23:20], |seen[19:16], |seen[15:12], |seen[11:8], |seen[7:4],
                       |seen[3:0]};
    wire [2:0]  nibble = any[6] ? 3'd0 : any[5] ? 3'd1 : any[4] ? 3'd2 : any[3] ? 3'd3
                       : any[2] ? 3'd4 : any[1] ? 3'd5 : any[0] ? 3'd6 : 3'd7;
    wire [31:0] nibbles = {seen, 4'd0} << {nibble, 2'd0};
    wire [1:0]  place_in = nibbles[31] ? 2'd0 : nibbles[30] ? 2'd1 : nibbles[29] ? 2'd2 : 2'd3;
    wire [4:0]  zeros = {nibble, place_in};
    wire [27:0] coarse = total_3 << {nibble, 2'd0};
    wire [27:0] shifted = coarse << place_in;
    wire [7:0]  exponent_top = exponent_3 + 8'd1 - {3'd0, zeros};

    wire        sign_4, nan_4, infinite_4;
    wire [7:0]  exponent_4;
    wire [26:0] shifted_4;
    olaf_stage #(.WIDTH(38), .REGISTERED(CUT_NORM)) cut_norm (
        .clk(clk), .enable(step[AT_NORM]),
        .d({sign_3 & ~(subtract_3 & ~|total_3), nan_3, total_3[27] & (&exponent_3[7:1]) & ~special_3,
        shifted[27] ? exponent_top : 8'd0, shifted[26:0]}),
        .q({sign_4, nan_4, infinite_4, exponent_4, shifted_4})
    );

    // 5. Rounded; a carry out of the fraction is exactly a step of the exponent.
    wire        up = TOWARDS == 0 ? shifted_4[3] & (shifted_4[4] | |shifted_4[2:0])
                   : TOWARDS > 0  ? !sign_4 & |shifted_4[3:0]
                   :                sign_4 & |shifted_4[3:0];
    wire [30:0] overflowed = (TOWARDS > 0 && sign_4) || (TOWARDS < 0 && !sign_4) ? 31'h7f7fffff : 31'h7f800000;
    wire [30:0] rounded = {exponent_4, shifted_4[26:4]} + {30'd0, up};
    wire [31:0] result = nan_4 ? 32'h7fc00000
                       : infinite_4 ? {sign_4, overflowed}
                       : {sign_4, rounded};
    olaf_stage #(.WIDTH(32), .REGISTERED(1)) cut_out (
        .clk(clk), .enable(step[LATENCY-1]),
        .d(result),
        .q(sum)
    );
    wire unused = &{1'b0, below, nibbles[28:0]};
endmodule
`default_nettype wire
