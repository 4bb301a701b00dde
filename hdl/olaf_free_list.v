// available_mem_addrs (OLAF §4): buffers that hold no update, in the order they became free.
//
// There is one buffer more than slots: the arriving update is always written to a buffer of its own,
// the spare, and takes its place only when it has arrived whole. A merge swaps the spare with the
// buffer it read, so only an append takes from the list and only a departure gives to it.
`default_nettype none
module olaf_free_list #(
    parameter SLOTS = 8,
    parameter BUFFER_BITS = 4,
    parameter PLACE_BITS = 3
) (
    input  wire                    clk,
    input  wire                    clearing,       // buffer i is put on the list at step i
    input  wire [15:0]             clearing_step,
    input  wire                    take,
    output wire [BUFFER_BITS-1:0] first,
    input  wire                    give,
    input  wire [BUFFER_BITS-1:0] given
);
    localparam LAST_SLOT = SLOTS - 1;
    localparam [PLACE_BITS-1:0] LAST = LAST_SLOT[PLACE_BITS-1:0];

    reg [BUFFER_BITS-1:0] available_mem_addrs [0:(1<<PLACE_BITS)-1];
    reg [PLACE_BITS-1:0]   write_ptr;             // OLAF §4's names: where arriving updates take from
    reg [PLACE_BITS-1:0]   append_available_addr; // where freed buffers are put

    assign first = available_mem_addrs[write_ptr];

    always @(posedge clk)
        if (clearing) begin
            write_ptr <= {PLACE_BITS{1'b0}};
            append_available_addr <= {PLACE_BITS{1'b0}};
        end else begin
            if (take) write_ptr <= write_ptr == LAST ? {PLACE_BITS{1'b0}} : write_ptr + 1'b1;
            if (give)
                append_available_addr <= append_available_addr == LAST ? {PLACE_BITS{1'b0}}
                                                                       : append_available_addr + 1'b1;
        end

    always @(posedge clk)
        if (clearing) begin
            if ({16'd0, clearing_step} < SLOTS)
                available_mem_addrs[clearing_step[PLACE_BITS-1:0]] <= clearing_step[BUFFER_BITS-1:0];
        end else if (give) available_mem_addrs[append_available_addr] <= given;
endmodule
`default_nettype wire
