// out_mem_addrs (OLAF §4): the slots of the updates that wait, in the order they leave. An update that is
// merged or replaced keeps its place. One that begins to leave is taken off.
`default_nettype none
module olaf_out_list #(
    parameter SLOTS = 8,
    parameter SLOT_BITS = 3
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 append,
    input  wire [SLOT_BITS-1:0] appended,
    input  wire                 remove,    // the first
    output reg  [SLOT_BITS-1:0] first,
    output reg                  waiting    // there is a first
);
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    localparam LAST_SLOT = SLOTS - 1;
    localparam [SLOT_BITS-1:0] LAST = LAST_SLOT[SLOT_BITS-1:0];

    reg [SLOT_BITS-1:0] out_mem_addrs [0:(1<<SLOT_BITS)-1];
    reg [SLOT_BITS-1:0] head, tail;
    reg [SLOT_BITS:0]   count;

    function [SLOT_BITS-1:0] next(input [SLOT_BITS-1:0] at);
        next = at == LAST ? {SLOT_BITS{1'b0}} : at + 1'b1;
    endfunction

    // The first is kept out of the memory, for much is decided by it.
    wire [SLOT_BITS-1:0] second = out_mem_addrs[next(head)];
    wire [SLOT_BITS:0] one = {{SLOT_BITS{1'b0}}, 1'b1};
    wire [SLOT_BITS:0] count_next = count + {{SLOT_BITS{1'b0}}, append} - {{SLOT_BITS{1'b0}}, remove};

    always @(posedge clk) begin
        if (append) out_mem_addrs[tail] <= appended;
        if (remove || !waiting) first <= waiting && count != one ? second : appended;
    end

    always @(posedge clk)
        if (rst) begin
            head <= {SLOT_BITS{1'b0}};
            tail <= {SLOT_BITS{1'b0}};
            count <= {(SLOT_BITS + 1){1'b0}};
            waiting <= 1'b0;
        end else begin
            if (append) tail <= next(tail);
            if (remove) head <= next(head);
            count <= count_next;
            waiting <= count_next != 0;
        end

`ifndef SYNTHESIS
    always @(posedge clk)
        if (!rst && (append || remove))
            if (count > FULL || (append && count == FULL) || (remove && count == 0)) begin
                $display("olaf_out_list: %0d of %0d slots, append %b, remove %b", count, SLOTS, append, remove);
                $stop;
            end
`else
    wire unused = |FULL;
`endif
endmodule
`default_nettype wire
