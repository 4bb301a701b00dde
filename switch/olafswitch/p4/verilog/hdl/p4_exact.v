// Hash ways: an entry is in one row of one way, which the driver chooses among those that its key hashes to. Four
// cycles. Where it is in two ways while it moves, the first way answers.
`default_nettype none
module p4_exact #(
    parameter KEY = 32,
    parameter ENTRY = 32,
    parameter WAYS = 4,
    parameter ROW = 8,                // log2 of the rows of a way
    parameter SLOT = ROW + 3,         // bits of a place
    // Bit r of a key's row in way w is the parity of the key and the KEY bits from KEY*(ROW*w + r).
    parameter [KEY*ROW*WAYS-1:0] HASHES = 0
) (
    input  wire             clk,
    input  wire [KEY-1:0]   key,
    output reg              hit,
    output reg  [SLOT-1:0]  slot,     // way × rows + row
    output reg  [ENTRY-1:0] entry,
    input  wire             write,
    input  wire [SLOT-1:0]  write_slot,
    input  wire             write_valid,
    input  wire [KEY-1:0]   write_key,
    input  wire [ENTRY-1:0] write_entry,
    input  wire             write_default
);
    reg [ENTRY-1:0] otherwise;
    initial otherwise = {ENTRY{1'b0}};
    reg [KEY-1:0]   key1, key2, key3;
    wire [WAYS-1:0] hits;
    wire [WAYS*ENTRY-1:0] found;
    wire [WAYS*ROW-1:0]   places;
    genvar          w, r;
    generate
        for (w = 0; w < WAYS; w = w + 1) begin : way
            reg  [ROW-1:0]     row, row2, row3;
            wire [KEY+ENTRY:0] read;
            wire [ROW-1:0]     hash;
            for (r = 0; r < ROW; r = r + 1) begin : bit_
                assign hash[r] = ^(key & HASHES[KEY*(ROW*w + r) +: KEY]);
            end
            p4_rows #(.WIDTH(KEY + ENTRY + 1), .BITS(ROW)) rows (
                .clk(clk), .write(write && write_slot[SLOT-1:ROW] == w), .write_at(write_slot[ROW-1:0]),
                .data({write_valid, write_key, write_entry}), .read_at(row), .found(read)
            );
            always @(posedge clk) begin
                row <= hash;
                row2 <= row;
                row3 <= row2;
            end
            assign hits[w] = read[KEY+ENTRY] && read[ENTRY +: KEY] == key3;
            assign found[ENTRY*w +: ENTRY] = read[ENTRY-1:0];
            assign places[ROW*w +: ROW] = row3;
        end
    endgenerate
    integer k;
    always @(posedge clk) begin
        key1 <= key;
        key2 <= key1;
        key3 <= key2;
        hit <= |hits;
        entry <= otherwise;
        slot <= {SLOT{1'b0}};
        for (k = WAYS - 1; k >= 0; k = k - 1)
            if (hits[k]) begin
                entry <= found[ENTRY*k +: ENTRY];
                slot <= {k[SLOT-ROW-1:0], places[ROW*k +: ROW]};
            end
        if (write_default) otherwise <= write_entry;
    end
endmodule
`default_nettype wire
