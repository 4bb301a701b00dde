// The queue's memory: one beat written and two read a cycle, one for merging and one for leaving.
//
// Block RAM has one write and one read port at this width, so there are two copies, both written.
// Sharing one copy between the readers would halve the memory but cost either half the merge rate or
// half the output rate; memory is what an XCU55C has most of.
`default_nettype none
module olaf_payload_store #(
    parameter WIDTH = 512,  // bits of a beat
    parameter DEPTH = 288,  // beats
    parameter ADDR_BITS = 9
) (
    input  wire                 clk,
    input  wire                 write,
    input  wire [ADDR_BITS-1:0] write_addr,
    input  wire [WIDTH-1:0]     write_data,
    input  wire                 merge_read,
    input  wire [ADDR_BITS-1:0] merge_addr,
    output reg  [WIDTH-1:0]     merge_data,
    input  wire                 leave_read,
    input  wire [ADDR_BITS-1:0] leave_addr,
    output reg  [WIDTH-1:0]     leave_data
);
    (* ram_style = "block" *) reg [WIDTH-1:0] for_merging [0:DEPTH-1];
    (* ram_style = "block" *) reg [WIDTH-1:0] for_leaving [0:DEPTH-1];

    always @(posedge clk) begin
        if (write) for_merging[write_addr] <= write_data;
        if (merge_read) merge_data <= for_merging[merge_addr];
    end

    always @(posedge clk) begin
        if (write) for_leaving[write_addr] <= write_data;
        if (leave_read) leave_data <= for_leaving[leave_addr];
    end
endmodule
`default_nettype wire
