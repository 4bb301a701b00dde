// Merges streams frame by frame, in turn: no input that has a frame waits for more than one frame of each other.
`default_nettype none
module olaf_box_arbiter #(
    parameter INPUTS = 3,      // streams, 1 … 16
    parameter USER_BITS = 1    // what travels with a frame
) (
    input  wire                        clk,
    input  wire                        rst,

    input  wire [512*INPUTS-1:0]       s_tdata,
    input  wire [64*INPUTS-1:0]        s_tkeep,
    input  wire [USER_BITS*INPUTS-1:0] s_tuser,
    input  wire [INPUTS-1:0]           s_tlast,
    input  wire [INPUTS-1:0]           s_tvalid,
    output wire [INPUTS-1:0]           s_tready,

    output wire [511:0]                m_tdata,
    output wire [63:0]                 m_tkeep,
    output wire [USER_BITS-1:0]        m_tuser,
    output wire                        m_tlast,
    output wire                        m_tvalid,
    input  wire                        m_tready
);
    localparam WIDTH = 512 + 64 + USER_BITS + 1;

    reg [INPUTS-1:0] granted; // one bit: whose turn it is
    reg              mid_frame;  // its frame has begun
    reg [WIDTH-1:0]  beat;
    wire             ready;

    integer i;
    always @* begin
        beat = {WIDTH{1'b0}};
        for (i = 0; i < INPUTS; i = i + 1)
            if (granted[i])
                beat = beat | {s_tlast[i], s_tuser[USER_BITS*i +: USER_BITS], s_tkeep[64*i +: 64],
                               s_tdata[512*i +: 512]};
    end

    // The next in turn that has something: the first above the present one, else the first of all. While a
    // frame's last beat leaves, the present input does not count: whether it has another frame is unknown.
    wire [INPUTS-1:0]   others = s_tvalid & ~granted;
    wire [2*INPUTS-1:0] round = {others, others} & ~({{INPUTS{1'b0}}, granted} - {{(2*INPUTS-1){1'b0}}, 1'b1});
    wire [2*INPUTS-1:0] lowest = round & (~round + {{(2*INPUTS-1){1'b0}}, 1'b1});
    wire [INPUTS-1:0]   chosen = lowest[INPUTS-1:0] | lowest[2*INPUTS-1:INPUTS];

    wire valid = |(granted & s_tvalid);
    wire taken = valid && ready;
    wire ends = taken && beat[WIDTH-1];
    wire turn = ends || (!valid && !mid_frame);

    assign s_tready = granted & {INPUTS{ready}};

    always @(posedge clk)
        if (rst) begin
            granted <= {{(INPUTS - 1){1'b0}}, 1'b1};
            mid_frame <= 1'b0;
        end else begin
            if (taken) mid_frame <= !beat[WIDTH-1];
            if (turn && |others) granted <= chosen;
        end

    olaf_box_slice #(.WIDTH(WIDTH)) slice (
        .clk(clk), .rst(rst),
        .s_beat(beat), .s_valid(valid), .s_ready(ready),
        .m_beat({m_tlast, m_tuser, m_tkeep, m_tdata}), .m_valid(m_tvalid), .m_ready(m_tready)
    );
endmodule
`default_nettype wire
