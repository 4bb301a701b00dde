// Entries in registers, compared all at once; the first that matches wins. Three cycles.
`default_nettype none
module p4_ternary #(
    parameter KEY = 8,
    parameter ENTRY = 8,
    parameter SIZE = 16,
    parameter SLOT = 4                // bits of a place
) (
    input  wire             clk,
    input  wire [KEY-1:0]   key,
    output reg              hit,
    output reg  [SLOT-1:0]  slot,
    output reg  [ENTRY-1:0] entry,
    // An entry written, valid or not; the one that is taken where none matches.
    input  wire             write,
    input  wire [SLOT-1:0]  write_slot,
    input  wire             write_valid,
    input  wire [KEY-1:0]   write_key,
    input  wire [KEY-1:0]   write_mask,
    input  wire [ENTRY-1:0] write_entry,
    input  wire             write_default
);
    localparam GROUPS = (SIZE + 7) / 8;
    reg [SIZE-1:0]    used;
    reg [KEY-1:0]     values [0:SIZE-1];
    reg [KEY-1:0]     masks [0:SIZE-1];
    reg [ENTRY-1:0]   entries [0:SIZE-1];
    reg [ENTRY-1:0]   otherwise;
    initial used = {SIZE{1'b0}};
    initial otherwise = {ENTRY{1'b0}};

    reg  [8*GROUPS-1:0] match, first;
    wire [8*GROUPS-1:0] chosen;
    genvar              g, b;
    generate
        for (g = 0; g < GROUPS; g = g + 1) begin : group
            wire earlier = |(match & ~({(8*GROUPS){1'b1}} << (8*g)));
            for (b = 0; b < 8; b = b + 1) begin : place
                assign chosen[8*g+b] = match[8*g+b] && !earlier && (match[8*g +: 8] & ~(8'hFF << b)) == 8'd0;
            end
        end
    endgenerate
    integer         i;
    reg [ENTRY-1:0] picked;
    reg [SLOT-1:0]  number;
    always @* begin
        picked = |first ? {ENTRY{1'b0}} : otherwise;
        number = {SLOT{1'b0}};
        for (i = 0; i < SIZE; i = i + 1) begin
            picked = picked | ({ENTRY{first[i]}} & entries[i]);
            number = number | ({SLOT{first[i]}} & i[SLOT-1:0]);
        end
    end
    always @(posedge clk) begin
        match <= {(8*GROUPS){1'b0}};
        for (i = 0; i < SIZE; i = i + 1) match[i] <= used[i] && ((key ^ values[i]) & masks[i]) == {KEY{1'b0}};
        first <= chosen;
        hit <= |first;
        slot <= number;
        entry <= picked;
        for (i = 0; i < SIZE; i = i + 1)
            if (write && write_slot == i[SLOT-1:0]) begin
                used[i] <= write_valid;
                values[i] <= write_key;
                masks[i] <= write_mask;
                entries[i] <= write_entry;
            end
        if (write_default) otherwise <= write_entry;
    end
endmodule
`default_nettype wire
