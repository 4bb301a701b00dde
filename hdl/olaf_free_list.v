// available_mem_addrs (OLAF §4): the slots that hold no update, in the order they became free.
`default_nettype none
module olaf_free_list #(
    parameter SLOTS = 8,
    parameter SLOT_BITS = 3
) (
    input  wire                 clk,
    input  wire                 clearing,       // slot i is put on the list at step i
    input  wire [15:0]          clearing_step,
    input  wire                 take,
    output wire [SLOT_BITS-1:0] first,
    input  wire                 give,
    input  wire [SLOT_BITS-1:0] given,
    output reg  [SLOT_BITS:0]   used            // slots that are not on the list
);
    localparam LAST_SLOT = SLOTS - 1;
    localparam [SLOT_BITS-1:0] LAST = LAST_SLOT[SLOT_BITS-1:0];

    reg [SLOT_BITS-1:0] available_mem_addrs [0:(1<<SLOT_BITS)-1];
    reg [SLOT_BITS-1:0] write_ptr;             // OLAF §4's names: where arriving updates take from
    reg [SLOT_BITS-1:0] append_available_addr; // where freed slots are put

    assign first = available_mem_addrs[write_ptr];

    function [SLOT_BITS-1:0] next(input [SLOT_BITS-1:0] at);
        next = at == LAST ? {SLOT_BITS{1'b0}} : at + 1'b1;
    endfunction

    always @(posedge clk)
        if (clearing) begin
            write_ptr <= {SLOT_BITS{1'b0}};
            append_available_addr <= {SLOT_BITS{1'b0}};
            used <= {(SLOT_BITS + 1){1'b0}};
        end else begin
            if (take) write_ptr <= next(write_ptr);
            if (give) append_available_addr <= next(append_available_addr);
            used <= used + {{SLOT_BITS{1'b0}}, take} - {{SLOT_BITS{1'b0}}, give};
        end

    always @(posedge clk)
        if (clearing) begin
            if ({16'd0, clearing_step} < SLOTS)
                available_mem_addrs[clearing_step[SLOT_BITS-1:0]] <= clearing_step[SLOT_BITS-1:0];
        end else if (give) available_mem_addrs[append_available_addr] <= given;

`ifndef SYNTHESIS
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    always @(posedge clk)
        if (!clearing && (take || give))
            if (used > FULL || (take && used == FULL) || (give && used == 0)) begin
                $display("olaf_free_list: %0d of %0d slots used, take %b, give %b", used, SLOTS, take, give);
                $stop;
            end
`endif
endmodule
`default_nettype wire
