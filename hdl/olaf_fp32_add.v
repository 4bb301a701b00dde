// IEEE 754 binary32 addition: round to nearest, ties to even, or towards an infinity; subnormals in full;
// a NaN result is the canonical quiet NaN 7fc00000. One addition a cycle, LATENCY cycles through.
//
// With `copy`, one operand must be -0 and the other leaves unchanged bit for bit, a NaN too: so headers
// and unmerged payload pass through the same pipeline.
//
// Each step is a function, called only where its register takes a new value: a simulator computes nothing in
// the cycles in which no addition moves. Where a step has no register of its own, the next one calls it.
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
    reg  [64:0] after_0;
    wire [31:0] x, y;
    wire        plain;
    assign {plain, x, y} = CUT_IN != 0 ? after_0 : {copy, a, b};

    // 1. Of the result: its sign, whether it is a difference, whether it is infinite or a NaN.
    function automatic [3:0] kind(input copies, input [31:0] left, input [31:0] right);
        reg [31:0] big;
        reg [7:0]  lesser;
        reg        swap, subtract, not_a_number;
        begin
            swap = left[30:0] < right[30:0];
            big = swap ? right : left;
            lesser = swap ? left[30:23] : right[30:23];
            subtract = left[31] ^ right[31];
            not_a_number = !copies && (&big[30:23]) && (|big[22:0] || ((&lesser) && subtract));
            kind = {big[31], subtract, &big[30:23], not_a_number};
        end
    endfunction

    // The larger magnitude first; how far the smaller one's mantissa must move.
    function automatic [60:0] ordered(input [30:0] left, input [30:0] right);
        reg [30:0] big, lesser;
        reg        swap, big_normal;
        reg [7:0]  distance;
        reg [23:0] small_mantissa;
        begin
            swap = left < right;
            big = swap ? right : left;
            lesser = swap ? left : right;
            big_normal = |big[30:23];
            distance = big[30:23] - lesser[30:23];
            // A subnormal has exponent 1, not 0: next to a normal number that is one place less to move.
            small_mantissa = |lesser[30:23] ? {1'b1, lesser[22:0]}
                           : big_normal     ? {lesser[22:0], 1'b0}
                           :                  {1'b0, lesser[22:0]};
            ordered = {big_normal, big, &big[30:23] ? 24'd0 : small_mantissa,
                       |distance[7:5] ? 5'd31 : distance[4:0]};
        end
    endfunction

    // 2. The smaller mantissa in place, with guard, round and sticky bits.
    function automatic [58:0] in_place(input [60:0] from);
        reg [31:0] bigger;
        reg [4:0]  move;
        reg [26:0] aligned;
        reg        sticky;
        integer    place;
        begin
            {bigger, aligned[26:3], move} = from;
            aligned[2:0] = 3'd0;
            sticky = 1'b0;
            for (place = 4; place >= 0; place = place - 1)
                if (move[place]) begin
                    sticky = sticky | |(aligned & ((27'd1 << (1 << place)) - 27'd1));
                    aligned = aligned >> (1 << place);
                end
            in_place = {bigger, aligned[26:1], aligned[0] | sticky};
        end
    endfunction

    // 3. The sum, and a mark where a subnormal result's leading bit must stay.
    function automatic [63:0] added(input subtract, input [58:0] from);
        reg        normal, below, unused;
        reg [7:0]  exponent, effective;
        reg [22:0] fraction;
        reg [26:0] addend;
        reg [27:0] total;
        begin
            {normal, exponent, fraction, addend} = from;
            // The carry in rides below the lowest bit, so that one carry chain does it all.
            {total, below} = {1'b0, normal, fraction, 3'd0, 1'b1} + {{28{subtract}} ^ {1'b0, addend}, subtract};
            unused = below;
            effective = normal ? exponent : 8'd1;
            added = {effective, total, 28'h8000000 >> effective};
        end
    endfunction

    // 4. The leading bit to the top, but no further than the mark.
    function automatic [37:0] leading(input sign, input subtract, input special, input nan, input [63:0] from);
        reg [7:0]  exponent;
        reg [27:0] total, mark, seen, coarse, shifted;
        reg [6:0]  any;
        reg [2:0]  nibble;
        reg [31:0] nibbles;
        reg [1:0]  place;
        reg        unused;
        begin
            {exponent, total, mark} = from;
            seen = total | mark;
            any = {|seen[27:24], |seen[23:20], |seen[19:16], |seen[15:12], |seen[11:8], |seen[7:4], |seen[3:0]};
            nibble = any[6] ? 3'd0 : any[5] ? 3'd1 : any[4] ? 3'd2 : any[3] ? 3'd3
                   : any[2] ? 3'd4 : any[1] ? 3'd5 : any[0] ? 3'd6 : 3'd7;
            nibbles = {seen, 4'd0} << {nibble, 2'd0};
            place = nibbles[31] ? 2'd0 : nibbles[30] ? 2'd1 : nibbles[29] ? 2'd2 : 2'd3;
            unused = &{1'b0, nibbles[28:0]};
            coarse = total << {nibble, 2'd0};
            shifted = coarse << place;
            leading = {sign & ~(subtract & ~|total), nan, total[27] & (&exponent[7:1]) & ~special,
                       shifted[27] ? exponent + 8'd1 - {3'd0, nibble, place} : 8'd0, shifted[26:0]};
        end
    endfunction

    // 5. Rounded; a carry out of the fraction is exactly a step of the exponent.
    function automatic [31:0] rounded(input [37:0] from);
        reg        sign, nan, infinite, up;
        reg [7:0]  exponent;
        reg [26:0] mantissa;
        reg [30:0] overflowed, magnitude;
        begin
            {sign, nan, infinite, exponent, mantissa} = from;
            up = TOWARDS == 0 ? mantissa[3] & (mantissa[4] | |mantissa[2:0])
               : TOWARDS > 0  ? !sign & |mantissa[3:0]
               :                sign & |mantissa[3:0];
            overflowed = (TOWARDS > 0 && sign) || (TOWARDS < 0 && !sign) ? 31'h7f7fffff : 31'h7f800000;
            magnitude = {exponent, mantissa[26:4]} + {30'd0, up};
            rounded = nan ? 32'h7fc00000 : {sign, infinite ? overflowed : magnitude};
        end
    endfunction

    reg [3:0]  kind_1, kind_2, kind_3;
    reg [60:0] after_1;
    reg [58:0] after_2;
    reg [63:0] after_3;
    reg [37:0] after_4;
    reg [31:0] last;
    always @(posedge clk) begin
        if (step[0]) after_0 <= {copy, a, b};
        if (step[AT_SWAP]) begin
            kind_1 <= kind(plain, x, y);
            after_1 <= ordered(x[30:0], y[30:0]);
        end
        if (step[AT_ALIGN]) begin
            kind_2 <= kind_1;
            after_2 <= in_place(after_1);
        end
        if (step[AT_ADD]) begin
            if (CUT_ALIGN != 0) begin
                kind_3 <= kind_2;
                after_3 <= added(kind_2[2], after_2);
            end else if (CUT_SWAP != 0) begin
                kind_3 <= kind_1;
                after_3 <= added(kind_1[2], in_place(after_1));
            end else begin
                kind_3 <= kind(plain, x, y);
                after_3 <= added(x[31] ^ y[31], in_place(ordered(x[30:0], y[30:0])));
            end
        end
        if (step[AT_NORM]) after_4 <= leading(kind_3[3], kind_3[2], kind_3[1], kind_3[0], after_3);
        if (step[LATENCY-1])
            last <= rounded(CUT_NORM != 0 ? after_4
                                          : leading(kind_3[3], kind_3[2], kind_3[1], kind_3[0], after_3));
    end
    assign sum = last;
endmodule
`default_nettype wire
