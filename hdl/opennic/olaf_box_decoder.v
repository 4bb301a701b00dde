// The box's one AXI4-Lite port: hands each access to the register block whose window it is in. Everything is
// answered: an address in no window with DECERR, a block that does not answer in time, and one that still owes an
// answer, with SLVERR.
`default_nettype none
module olaf_box_decoder #(
    parameter BLOCKS = 4,
    parameter ADDR_BITS = 20,                 // of the box: 1 MiB
    parameter [ADDR_BITS*BLOCKS-1:0] BASE = {(ADDR_BITS*BLOCKS){1'b0}},
    parameter [ADDR_BITS*BLOCKS-1:0] MASK = {(ADDR_BITS*BLOCKS){1'b1}}, // bits that choose the window
    parameter TIME_LIMIT = 4000               // cycles: 32 µs
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [31:0]          s_axil_awaddr,
    input  wire                 s_axil_awvalid,
    output wire                 s_axil_awready,
    input  wire [31:0]          s_axil_wdata,
    input  wire                 s_axil_wvalid,
    output wire                 s_axil_wready,
    output reg  [1:0]           s_axil_bresp,
    output reg                  s_axil_bvalid,
    input  wire                 s_axil_bready,
    input  wire [31:0]          s_axil_araddr,
    input  wire                 s_axil_arvalid,
    output wire                 s_axil_arready,
    output reg  [31:0]          s_axil_rdata,
    output reg  [1:0]           s_axil_rresp,
    output reg                  s_axil_rvalid,
    input  wire                 s_axil_rready,

    output wire [BLOCKS-1:0]    ask,
    output reg                  ask_write,
    output reg  [ADDR_BITS-1:0] ask_addr,
    output reg  [31:0]          ask_data,
    input  wire [BLOCKS-1:0]    busy,
    input  wire [BLOCKS-1:0]    answer,
    input  wire [2*BLOCKS-1:0]  answer_resp,
    input  wire [32*BLOCKS-1:0] answer_data
);
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10, DECERR = 2'b11;
    localparam IDLE = 2'd0, ASK = 2'd1, WAIT = 2'd2, ANSWER = 2'd3;

    reg  [1:0]  state;
    reg  [15:0] waited;
    reg         fair;     // a read goes first when both ask
    reg  [1:0]  resp;
    reg  [31:0] data;

    wire write_asks = s_axil_awvalid && s_axil_wvalid;
    wire take_read = state == IDLE && s_axil_arvalid && (fair || !write_asks);
    wire take_write = state == IDLE && write_asks && !take_read;
    assign s_axil_awready = take_write;
    assign s_axil_wready = take_write;
    assign s_axil_arready = take_read;

    reg  [BLOCKS-1:0] chosen;
    reg  [1:0]        got_resp;
    reg  [31:0]       got_data;
    integer i;
    always @* begin
        got_resp = OKAY;
        got_data = 32'd0;
        for (i = 0; i < BLOCKS; i = i + 1) begin
            chosen[i] = (ask_addr & MASK[ADDR_BITS*i +: ADDR_BITS]) == BASE[ADDR_BITS*i +: ADDR_BITS];
            if (chosen[i]) got_resp = got_resp | answer_resp[2*i +: 2];
            if (chosen[i]) got_data = got_data | answer_data[32*i +: 32];
        end
    end
    assign ask = chosen & ~busy & {BLOCKS{state == ASK}};
    wire answered = |(chosen & answer);
    wire late = {16'd0, waited} >= TIME_LIMIT;
    wire taken = ask_write ? s_axil_bvalid && s_axil_bready : s_axil_rvalid && s_axil_rready;

    always @(posedge clk)
        if (rst) begin
            state <= IDLE;
            fair <= 1'b0;
            s_axil_bvalid <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end else
            case (state)
                IDLE: if (take_read || take_write) begin
                    state <= ASK;
                    fair <= take_write;
                end
                ASK: state <= |ask ? WAIT : ANSWER;
                WAIT: if (answered || late) state <= ANSWER;
                ANSWER: begin
                    s_axil_bvalid <= ask_write && !taken;
                    s_axil_rvalid <= !ask_write && !taken;
                    if (taken) state <= IDLE;
                end
            endcase

    always @(posedge clk) begin
        case (state)
            IDLE: begin
                ask_write <= take_write;
                ask_addr <= take_write ? s_axil_awaddr[ADDR_BITS-1:0] : s_axil_araddr[ADDR_BITS-1:0];
                ask_data <= s_axil_wdata;
            end
            ASK: begin
                waited <= 16'd0;
                resp <= |chosen ? SLVERR : DECERR;
                data <= 32'hffffffff;
            end
            WAIT: begin
                waited <= waited + 16'd1;
                if (answered) begin
                    resp <= got_resp;
                    data <= got_data;
                end
            end
            ANSWER: begin
                s_axil_bresp <= resp;
                s_axil_rresp <= resp;
                s_axil_rdata <= data;
            end
        endcase
    end

    wire unused = &{1'b0, s_axil_awaddr[31:ADDR_BITS], s_axil_araddr[31:ADDR_BITS]};
endmodule
`default_nettype wire
