// out_mem_addrs (OLAF §4): the updates in the order they leave. An update that is merged or replaced
// keeps its place; only the buffer it lies in, and what travels with it, change.
`default_nettype none
`include "olaf_meta.vh"
module olaf_out_list #(
    parameter SLOTS = 8,
    parameter BUFFER_BITS = 4,
    parameter PLACE_BITS = 3,
    parameter META_BITS = `OLAF_META_BITS  // what travels with an update until it leaves
) (
    input  wire                    clk,
    input  wire                    rst,

    input  wire                    append,        // at `tail`
    input  wire                    set_buffer,   // with every append too
    input  wire                    set_meta,    // with every append too
    input  wire [PLACE_BITS-1:0]   set_place,
    input  wire [BUFFER_BITS-1:0] buffer,
    input  wire [META_BITS-1:0]  meta,

    input  wire                    depart,        // the head has left
    output reg  [PLACE_BITS-1:0]   head,
    output reg  [PLACE_BITS-1:0]   tail,
    output wire [PLACE_BITS-1:0]   after_head,
    output reg  [PLACE_BITS:0]     count,

    input  wire [PLACE_BITS-1:0]   look_place,
    output wire [BUFFER_BITS-1:0] look_buffer,
    output wire [META_BITS-1:0]  look_meta,
    input  wire [PLACE_BITS-1:0]   old_place,
    output wire [BUFFER_BITS-1:0] old_buffer
);
    localparam [PLACE_BITS:0] FULL = SLOTS[PLACE_BITS:0];
    localparam LAST_SLOT = SLOTS - 1;
    localparam [PLACE_BITS-1:0] LAST = LAST_SLOT[PLACE_BITS-1:0];

    reg [BUFFER_BITS-1:0] out_mem_addrs [0:(1<<PLACE_BITS)-1];
    reg [META_BITS-1:0]  metas       [0:(1<<PLACE_BITS)-1];

    function [PLACE_BITS-1:0] next(input [PLACE_BITS-1:0] at);
        next = at == LAST ? {PLACE_BITS{1'b0}} : at + 1'b1;
    endfunction

    assign after_head = next(head);
    assign look_buffer = out_mem_addrs[look_place];
    assign look_meta = metas[look_place];
    assign old_buffer = out_mem_addrs[old_place];

    always @(posedge clk) begin
        if (set_buffer) out_mem_addrs[set_place] <= buffer;
        if (set_meta) metas[set_place] <= meta;
    end

    always @(posedge clk)
        if (rst) begin
            head <= {PLACE_BITS{1'b0}};
            tail <= {PLACE_BITS{1'b0}};
            count <= {(PLACE_BITS + 1){1'b0}};
        end else begin
            if (append) tail <= next(tail);
            if (depart) head <= after_head;
            count <= count + {{PLACE_BITS{1'b0}}, append} - {{PLACE_BITS{1'b0}}, depart};
        end

`ifndef SYNTHESIS
    always @(posedge clk)
        if (!rst && (count > FULL || (append && count == FULL) || (depart && count == 0))) begin
            $display("olaf_out_list: %0d of %0d slots, append %b, depart %b", count, SLOTS, append, depart);
            $stop;
        end
`endif
endmodule
`default_nettype wire
