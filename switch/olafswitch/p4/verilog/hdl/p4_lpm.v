// Prefixes: those of full length, which win, by hash; the others in registers, which the driver sorts by length.
`default_nettype none
module p4_lpm #(
    parameter KEY = 32,
    parameter ENTRY = 32,
    parameter WAYS = 4,
    parameter ROW = 8,
    parameter SIZE = 64,              // prefixes in registers; their places come after those of the ways
    parameter SLOT = ROW + 3,
    parameter [KEY*ROW*WAYS-1:0] HASHES = 0
) (
    input  wire             clk,
    input  wire [KEY-1:0]   key,
    output wire             hit,
    output wire [SLOT-1:0]  slot,
    output wire [ENTRY-1:0] entry,
    input  wire             write,
    input  wire [SLOT-1:0]  write_slot,
    input  wire             write_valid,
    input  wire [KEY-1:0]   write_key,
    input  wire [KEY-1:0]   write_mask,
    input  wire [ENTRY-1:0] write_entry,
    input  wire             write_default
);
    localparam [SLOT:0] FIRST = WAYS << ROW;
    wire             is_short = {1'b0, write_slot} >= FIRST;
    wire             full_hit, short_hit;
    wire [SLOT-1:0]  full_slot, short_slot;
    wire [ENTRY-1:0] full_entry, short_entry;
    reg              short_hit4;
    reg  [SLOT-1:0]  short_slot4;
    reg  [ENTRY-1:0] short_entry4;
    p4_exact #(.KEY(KEY), .ENTRY(ENTRY), .WAYS(WAYS), .ROW(ROW), .SLOT(SLOT), .HASHES(HASHES)) whole (
        .clk(clk), .key(key), .hit(full_hit), .slot(full_slot), .entry(full_entry),
        .write(write && !is_short), .write_slot(write_slot), .write_valid(write_valid), .write_key(write_key),
        .write_entry(write_entry), .write_default(write_default)
    );
    p4_ternary #(.KEY(KEY), .ENTRY(ENTRY), .SIZE(SIZE), .SLOT(SLOT)) others (
        .clk(clk), .key(key), .hit(short_hit), .slot(short_slot), .entry(short_entry),
        .write(write && is_short), .write_slot(write_slot - FIRST[SLOT-1:0]), .write_valid(write_valid),
        .write_key(write_key), .write_mask(write_mask), .write_entry(write_entry), .write_default(write_default)
    );
    always @(posedge clk) {short_hit4, short_slot4, short_entry4} <= {short_hit, short_slot, short_entry};
    assign hit = full_hit || short_hit4;
    assign slot = full_hit ? full_slot : short_slot4 + FIRST[SLOT-1:0];
    assign entry = full_hit ? full_entry : short_entry4;
endmodule
`default_nettype wire
