// The registers by which a driver writes tables and takes counters. An entry's words are collected here and take
// effect in one cycle; `command` reads 1 until no frame is left that saw the state before.
//   0x00 id  0x04 version  0x08 digest  0x0C counters, tables  0x10 target  0x14 slot  0x18 command
// A command with bit 3 is done for `slot` and every slot below it, one a cycle; `command` reads 1 until then.
//   0x20 0x24 what a counter or a register's cell held  0x40 … the entry's words: what it does, its key, its mask
// Every other address, and one within a word, answers DECERR.
`default_nettype none
module p4_config #(
    parameter WORDS = 1,              // of the longest entry
    parameter TABLES = 1,
    parameter COUNTERS = 0,
    parameter FRAMES = 6,             // bits of the number of frames inside
    parameter [31:0] DIGEST = 0
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [19:0]         awaddr,
    input  wire                awvalid,
    output wire                awready,
    input  wire [31:0]         wdata,
    input  wire                wvalid,
    output wire                wready,
    output reg  [1:0]          bresp,
    output reg                 bvalid,
    input  wire                bready,
    input  wire [19:0]         araddr,
    input  wire                arvalid,
    output wire                arready,
    output reg  [31:0]         rdata,
    output reg  [1:0]          rresp,
    output reg                 rvalid,
    input  wire                rready,

    output wire                set,            // an entry
    output wire                clear,          // an entry
    output wire                set_default,
    output wire                take,           // a counter
    output reg  [7:0]          target,         // the table or counter
    output reg  [31:0]         slot,
    output wire [32*WORDS-1:0] words,
    input  wire                taken,
    input  wire [63:0]         value,
    output reg                 cell_ask,       // a register's; until `cell_taken`
    output reg                 cell_write,
    input  wire                cell_taken,
    input  wire [63:0]         cell_value,
    input  wire [FRAMES-1:0]   present,        // frames that entered and have not left
    input  wire                leave,          // a frame's result was used; its last beat follows,
    input  wire                moves           // when the output is free or takes a beat
);
    localparam [31:0] ID = 32'h50345254, VERSION = 32'd1;
    localparam [1:0] OKAY = 2'b00, DECERR = 2'b11;
    reg [31:0] word [0:WORDS-1];
    reg [63:0] held;
    reg        sweeping, acted;
    reg [2:0]  taking;                // cycles until a counter's cell is held
    reg [FRAMES-1:0] owed;            // frames inside that may have seen the state before
    reg        last;                  // one of them may still be at the output
    reg [3:0]  command;
    assign {take, set_default, clear, set} = rst ? 4'b0000 : command;
    reg        have_address, have_data;
    reg [19:0] address;
    reg [31:0] data;
    wire       asked = command[3] || cell_ask || taking != 3'd0;
    wire       start = have_address && have_data && !bvalid && !asked && !sweeping && !acted;
    assign awready = !have_address;
    assign wready = !have_data;
    assign arready = !rvalid && (sweeping || !asked);
    genvar w;
    generate
        for (w = 0; w < WORDS; w = w + 1) begin : flat
            assign words[32*w +: 32] = word[w];
        end
    endgenerate
    integer i;
    always @(posedge clk) begin
        command <= sweeping ? command : 4'b0000;
        if (sweeping && (!cell_ask || cell_taken)) begin
            slot <= slot - 32'd1;
            if (slot == 32'd1) sweeping <= 1'b0;
        end
        if (cell_taken && !sweeping) cell_ask <= 1'b0;
        if (awvalid && awready) {have_address, address} <= {1'b1, awaddr};
        if (wvalid && wready) {have_data, data} <= {1'b1, wdata};
        if (bready) bvalid <= 1'b0;
        if (start) begin
            {have_address, have_data} <= 2'b00;
            bresp <= DECERR;
            if (address == 20'h010 || address == 20'h014 || address == 20'h018) bresp <= OKAY;
            if (address == 20'h010) target <= data[7:0];
            if (address == 20'h014) slot <= data;
            for (i = 0; i < WORDS; i = i + 1)
                if (address == 20'h040 + {i[17:0], 2'b00}) begin
                    word[i] <= data;
                    bresp <= OKAY;
                end
            if (address == 20'h018) begin
                command <= {data[2:0] == 3'd4, data[2:0] == 3'd3, data[2:0] == 3'd2,
                            data[2:0] == 3'd1};
                cell_ask <= data[2:0] == 3'd5 || data[2:0] == 3'd6;
                cell_write <= data[2:0] == 3'd6;
                sweeping <= data[3] && slot != 32'd0;
            end
            bvalid <= 1'b1;
        end
        taking <= take ? 3'd5 : taking - {2'd0, taking != 3'd0};
        acted <= set || clear || set_default || (cell_taken && cell_write);
        if (acted) owed <= present - {{(FRAMES-1){1'b0}}, leave};
        else if (leave && owed != 0) owed <= owed - 1'b1;
        last <= acted || (leave && owed == 1) || (last && !moves);
        if (taken) held <= value;
        if (cell_taken) held <= cell_value;
        if (rready) rvalid <= 1'b0;
        if (arvalid && arready) begin
            rvalid <= 1'b1;
            rresp <= OKAY;
            case (araddr)
                20'h000: rdata <= ID;
                20'h004: rdata <= VERSION;
                20'h008: rdata <= DIGEST;
                20'h00C: rdata <= {COUNTERS[15:0], TABLES[15:0]};
                20'h010: rdata <= {24'd0, target};
                20'h014: rdata <= slot;
                20'h018: rdata <= {31'd0, |command || asked || sweeping || acted || owed != 0 || last};
                20'h020: rdata <= held[31:0];
                20'h024: rdata <= held[63:32];
                default: begin
                    rdata <= 32'd0;
                    rresp <= DECERR;
                end
            endcase
        end
        if (rst) begin
            {command, bvalid, rvalid, acted, sweeping, have_address, have_data, cell_ask} <= 11'd0;
            taking <= 3'd0;
            owed <= 0;
            last <= 1'b0;
        end
    end
endmodule
`default_nettype wire
