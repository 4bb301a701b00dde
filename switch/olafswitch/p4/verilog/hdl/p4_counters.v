// Packets and bytes in numbered cells, which stay at their highest value. A cell is added to in four cycles, and a
// later frame may add to it in each of them; taking a cell gives what it holds and clears it.
`default_nettype none
module p4_counters #(
    parameter INDEX = 4,              // bits of a cell's number
    parameter CELLS = 16,
    parameter PACKETS = 29,           // bits
    parameter BYTES = 35
) (
    input  wire                     clk,
    input  wire                     rst,     // cells keep what they hold
    input  wire                     count,
    input  wire                     take,    // not in a cycle with `count`
    input  wire [INDEX-1:0]         index,
    input  wire [15:0]              length,
    output reg                      taken,   // with `value`
    output wire [PACKETS+BYTES-1:0] value    // packets on top
);
    localparam WIDTH = PACKETS + BYTES;
    reg              count0, take0, count1, take1, count2, take2, write3, write4;
    reg [INDEX-1:0]  index0, index1, index2, index3;
    reg [15:0]       length0, length1, length2;
    wire [WIDTH-1:0] read;
    reg [WIDTH-1:0]  sum4, sum5;
    reg [PACKETS:0]  packets3;               // with a bit for overflow
    reg [BYTES:0]    bytes3;
    reg              same3, same4, same5;
    wire [WIDTH-1:0] sum3 = {packets3[PACKETS] ? {PACKETS{1'b1}} : packets3[PACKETS-1:0],
                             bytes3[BYTES] ? {BYTES{1'b1}} : bytes3[BYTES-1:0]};
    wire [WIDTH-1:0] base = same3 ? sum3 : same4 ? sum4 : same5 ? sum5 : read;
    p4_rows #(.WIDTH(WIDTH), .BITS(INDEX), .WORDS(CELLS)) cells (
        .clk(clk), .write(write3 && !rst), .write_at(index3), .data(sum3), .read_at(index0), .found(read)
    );
    reg [INDEX-1:0]  index4;
    reg [WIDTH-1:0]  kept;
    assign value = kept;
    always @(posedge clk) begin
        {count0, take0, index0, length0} <= {count, take, index, length};
        {count1, take1, index1, length1} <= {count0, take0, index0, length0};
        {count2, take2, index2, length2} <= {count1, take1, index1, length1};
        // Those that were ahead by one, two and three cycles and may not have been seen by the read.
        same3 <= (count2 || take2) && index2 == index1;
        same4 <= write3 && index3 == index1;
        same5 <= write4 && index4 == index1;
        packets3 <= take2 ? {(PACKETS+1){1'b0}} : {1'b0, base[BYTES +: PACKETS]} + {{PACKETS{1'b0}}, 1'b1};
        bytes3 <= take2 ? {(BYTES+1){1'b0}} : {1'b0, base[BYTES-1:0]} + {{(BYTES-15){1'b0}}, length2};
        write3 <= count2 || take2;
        index3 <= index2;
        taken <= take2;
        kept <= base;
        {write4, index4, sum4} <= {write3, index3, sum3};
        sum5 <= sum4;
        if (rst) {count0, take0, count1, take1, count2, take2, write3, write4, taken} <= 9'd0;
    end
endmodule
`default_nettype wire
