// A register's cells: a frame's cell is there three cycles after its number, and what the frame stores in that cycle
// is seen by the next one. A driver's access takes a cycle in which no frame comes.
`default_nettype none
module p4_cells #(
    parameter WIDTH = 32,
    parameter INDEX = 4,              // bits of a cell's number
    parameter CELLS = 16
) (
    input  wire             clk,
    input  wire             rst,      // cells keep what they hold
    input  wire             enter,    // a frame, with `index`
    input  wire [INDEX-1:0] index,
    output reg  [WIDTH-1:0] value,
    input  wire             write,    // in the cycle of `value`
    input  wire [WIDTH-1:0] data,
    input  wire             ask,      // stays until `taken`
    input  wire             ask_write,
    input  wire [INDEX-1:0] ask_index,
    input  wire [WIDTH-1:0] ask_data,
    output reg              taken,
    output reg  [WIDTH-1:0] answer    // with `taken`: what the cell held
);
    reg              busy, own1, own2, own3, write4, write5, same3, same4, same5;
    reg  [INDEX-1:0] index1, index2, index3, index4;
    reg  [WIDTH-1:0] data4, data5;
    wire             own = ask && !enter && !busy && !rst;
    wire [INDEX-1:0] index0 = enter ? index : ask_index;
    wire             write3 = own3 ? ask_write : write;
    wire [WIDTH-1:0] data3 = own3 ? ask_data : data;
    wire [WIDTH-1:0] found;
    p4_rows #(.WIDTH(WIDTH), .BITS(INDEX), .WORDS(CELLS)) cells (
        .clk(clk), .write(write3 && !rst), .write_at(index3), .data(data3), .read_at(index0), .found(found)
    );
    always @(posedge clk) begin
        {index1, index2, index3, index4} <= {index0, index1, index2, index3};
        {own1, own2, own3, taken} <= {own, own1, own2, own3};
        // Those that were ahead by one, two and three cycles were not seen by the read.
        same3 <= index2 == index1;
        same4 <= index3 == index1;
        same5 <= index4 == index1;
        {write4, data4} <= {write3, data3};
        {write5, data5} <= {write4, data4};
        value <= same3 && write3 ? data3 : same4 && write4 ? data4 : same5 && write5 ? data5 : found;
        answer <= value;
        busy <= own || (busy && !taken);
        if (rst) {busy, own1, own2, own3, taken, write4, write5} <= 7'd0;
    end
endmodule
`default_nettype wire
