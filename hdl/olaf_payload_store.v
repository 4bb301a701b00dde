// The queue's memory: one beat written and two read a cycle, one for merging and one for leaving.
// What is read follows two cycles later: both memories have an output register.
//
// Block RAM and UltraRAM have one write and one read port at this width, so there are two copies, both
// written. Sharing one copy between the readers would halve the memory but cost either half the merge rate
// or half the output rate; memory is what an XCU55C has most of.
`include "olaf_layout.vh"
`default_nettype none
module olaf_payload_store #(
    parameter DEPTH = 216,       // beats
    parameter ADDR_BITS = 8,
    parameter STYLE = "block"    // kind of memory: "block", or "ultra" for thousands of beats
) (
    input  wire                       clk,
    input  wire                       write,
    input  wire [ADDR_BITS-1:0]       write_addr,
    input  wire [`OLAF_BEAT_BITS-1:0] write_data,
    input  wire                       merge_read,
    input  wire [ADDR_BITS-1:0]       merge_addr,
    output reg  [`OLAF_BEAT_BITS-1:0] merge_data,
    input  wire                       leave_read,
    input  wire [ADDR_BITS-1:0]       leave_addr,
    output reg  [`OLAF_BEAT_BITS-1:0] leave_data
);
    (* ram_style = STYLE *) reg [`OLAF_BEAT_BITS-1:0] for_merging [0:DEPTH-1];
    (* ram_style = STYLE *) reg [`OLAF_BEAT_BITS-1:0] for_leaving [0:DEPTH-1];
    reg [`OLAF_BEAT_BITS-1:0] merge_latch, leave_latch;
    wire unused = STYLE == "block";

    always @(posedge clk) begin
        if (write) for_merging[write_addr] <= write_data;
        if (merge_read) merge_latch <= for_merging[merge_addr];
        merge_data <= merge_latch;
    end

    always @(posedge clk) begin
        if (write) for_leaving[write_addr] <= write_data;
        if (leave_read) leave_latch <= for_leaving[leave_addr];
        leave_data <= leave_latch;
    end
endmodule
`default_nettype wire
