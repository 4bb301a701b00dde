// Entries whose keys are in registers, compared all at once; the first that matches wins. Three cycles.
`default_nettype none
module p4_ternary #(
    parameter KEY = 8,
    parameter ENTRY = 8,
    parameter SIZE = 16,
    parameter SLOT = 4,               // bits of a place
    parameter MASKED = 1              // else every bit of a key counts
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
    input  wire [ENTRY-1:0] write_entry, // stays for two cycles more
    input  wire             write_default
);
    localparam GROUPS = (SIZE + 7) / 8;
    localparam AT = SIZE > 1 ? $clog2(SIZE) : 1;
    reg [SIZE-1:0]    used;
    reg [KEY-1:0]     values [0:SIZE-1];
    reg [KEY-1:0]     masks [0:SIZE-1];
    reg [ENTRY-1:0]   entries [0:SIZE-1];
    reg [ENTRY-1:0]   otherwise;
    initial used = {SIZE{1'b0}};
    initial otherwise = {ENTRY{1'b0}};

    // Which matches; the first of each eight, the first of those; its entry.
    reg [8*GROUPS-1:0] match;
    reg [GROUPS-1:0]   some;
    reg [SLOT-1:0]     firsts [0:GROUPS-1];
    reg                found;
    reg [SLOT-1:0]     first, number;
    integer            g, i;
    always @* begin
        for (g = 0; g < GROUPS; g = g + 1) begin
            some[g] = |match[8*g +: 8];
            firsts[g] = {SLOT{1'b0}};
        end
        for (i = SIZE - 1; i >= 0; i = i - 1) if (match[i]) firsts[i / 8] = i[SLOT-1:0];
        first = {SLOT{1'b0}};
        for (g = GROUPS - 1; g >= 0; g = g - 1) if (some[g]) first = firsts[g];
    end
    // A frame that has matched the key before finds the entry before: entries are written two cycles after keys.
    reg                write1, write2;
    reg [AT-1:0]       slot1, slot2;
    always @(posedge clk) begin
        match <= {(8*GROUPS){1'b0}};
        for (i = 0; i < SIZE; i = i + 1)
            match[i] <= used[i] && ((key ^ values[i]) & (MASKED != 0 ? masks[i] : {KEY{1'b1}})) == {KEY{1'b0}};
        found <= |some;
        number <= first;
        hit <= found;
        slot <= found ? number : {SLOT{1'b0}};
        entry <= found ? entries[number[AT-1:0]] : otherwise;
        for (i = 0; i < SIZE; i = i + 1)
            if (write && write_slot == i[SLOT-1:0]) begin
                used[i] <= write_valid;
                values[i] <= write_key;
                masks[i] <= write_mask;
            end
        {write1, slot1} <= {write, write_slot[AT-1:0]};
        {write2, slot2} <= {write1, slot1};
        if (write2) entries[slot2] <= write_entry;
        if (write_default) otherwise <= write_entry;
    end
endmodule
`default_nettype wire
