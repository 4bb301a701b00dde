// From the box to one of the shell's streams: beats of 512 bits become beats of WIDTH, with no cycle between them.
`default_nettype none
module olaf_corundum_out #(
    parameter WIDTH = 512        // bits of the shell's beats: 512, 256, 128 or 64
) (
    input  wire               clk,
    input  wire               rst,

    input  wire [511:0]       s_tdata,
    input  wire [63:0]        s_tkeep,
    input  wire               s_tlast,
    input  wire               s_tvalid,
    output wire               s_tready,

    output wire [WIDTH-1:0]   m_tdata,
    output wire [WIDTH/8-1:0] m_tkeep,
    output wire               m_tlast,
    output reg                m_tvalid,
    input  wire               m_tready
);
    reg [511:0] data;
    reg [63:0]  keep;     // of what has not left
    reg         last;
    wire [64:0] rest = {1'b0, keep} >> (WIDTH / 8);

    assign m_tdata = data[WIDTH-1:0];
    assign m_tkeep = keep[WIDTH/8-1:0];
    assign m_tlast = last && !rest[0];
    assign s_tready = !rst && (!m_tvalid || (m_tready && !rest[0]));
    wire   take = s_tvalid && s_tready;

    always @(posedge clk) begin
        if (rst) m_tvalid <= 1'b0;
        else if (take) m_tvalid <= 1'b1;
        else if (m_tready && !rest[0]) m_tvalid <= 1'b0;
        if (take) {last, keep, data} <= {s_tlast, s_tkeep, s_tdata};
        else if (m_tready) {keep, data} <= {rest[63:0], data >> WIDTH};
    end
    wire unused = &{1'b0, rest[64]};
endmodule
`default_nettype wire
