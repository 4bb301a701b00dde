// Carries one AXI4-Lite access at a time to another clock and its answer back, whatever the two clocks are.
//
// What crosses stays constant while a toggle signals the other side; each toggle goes through two flip-flops. An
// access that the far side never answers leaves this busy, and only this: the decoder answers in its place.
`default_nettype none
module olaf_box_crossing #(
    parameter ADDR_BITS = 12
) (
    input  wire                 s_clk,
    input  wire                 s_rst,
    input  wire                 ask,       // one cycle, and only when not busy
    input  wire                 ask_write,
    input  wire [ADDR_BITS-1:0] ask_addr,
    input  wire [31:0]          ask_data,
    output reg                  busy,
    output wire                 answer,    // one cycle
    output wire [1:0]           answer_resp,
    output wire [31:0]          answer_data,

    input  wire                 m_clk,
    input  wire                 m_rst,
    output reg  [ADDR_BITS-1:0] m_axil_awaddr,
    output reg                  m_axil_awvalid,
    input  wire                 m_axil_awready,
    output reg  [31:0]          m_axil_wdata,
    output wire [3:0]           m_axil_wstrb,
    output reg                  m_axil_wvalid,
    input  wire                 m_axil_wready,
    input  wire [1:0]           m_axil_bresp,
    input  wire                 m_axil_bvalid,
    output reg                  m_axil_bready,
    output wire [ADDR_BITS-1:0] m_axil_araddr,
    output reg                  m_axil_arvalid,
    input  wire                 m_axil_arready,
    input  wire [31:0]          m_axil_rdata,
    input  wire [1:0]           m_axil_rresp,
    input  wire                 m_axil_rvalid,
    output reg                  m_axil_rready
);
    // The near side.
    reg                 asked;    // toggles with each access
    reg                 is_write;
    reg [ADDR_BITS-1:0] addr;
    reg [31:0]          data;
    (* async_reg = "true" *) reg [1:0] answered_here;
    reg                 answered_before;
    reg                 answered; // toggles with each answer, on the far side
    reg [1:0]           resp;
    reg [31:0]          read;

    assign answer = busy && answered_here[1] != answered_before;
    assign answer_resp = resp;
    assign answer_data = read;

    always @(posedge s_clk)
        if (s_rst) begin
            asked <= 1'b0;
            busy <= 1'b0;
            answered_here <= 2'b00;
            answered_before <= 1'b0;
        end else begin
            answered_here <= {answered_here[0], answered};
            answered_before <= answered_here[1];
            if (ask) begin
                asked <= !asked;
                busy <= 1'b1;
            end else if (answer) busy <= 1'b0;
        end
    always @(posedge s_clk)
        if (ask) begin
            is_write <= ask_write;
            addr <= ask_addr;
            data <= ask_data;
        end

    // The far side.
    (* async_reg = "true" *) reg [1:0] asked_there;
    reg asked_before;
    wire begins = asked_there[1] != asked_before;
    wire ends = (m_axil_bvalid && m_axil_bready) || (m_axil_rvalid && m_axil_rready);

    assign m_axil_wstrb = 4'hf;
    assign m_axil_araddr = m_axil_awaddr;

    always @(posedge m_clk)
        if (m_rst) begin
            asked_there <= 2'b00;
            asked_before <= 1'b0;
            answered <= 1'b0;
            m_axil_awvalid <= 1'b0;
            m_axil_wvalid <= 1'b0;
            m_axil_bready <= 1'b0;
            m_axil_arvalid <= 1'b0;
            m_axil_rready <= 1'b0;
        end else begin
            asked_there <= {asked_there[0], asked};
            asked_before <= asked_there[1];
            if (begins) begin
                m_axil_awvalid <= is_write;
                m_axil_wvalid <= is_write;
                m_axil_bready <= is_write;
                m_axil_arvalid <= !is_write;
                m_axil_rready <= !is_write;
            end else begin
                if (m_axil_awready) m_axil_awvalid <= 1'b0;
                if (m_axil_wready) m_axil_wvalid <= 1'b0;
                if (m_axil_arready) m_axil_arvalid <= 1'b0;
                if (ends) begin
                    m_axil_bready <= 1'b0;
                    m_axil_rready <= 1'b0;
                    answered <= !answered;
                end
            end
        end
    always @(posedge m_clk) begin
        if (begins) begin
            m_axil_awaddr <= addr;
            m_axil_wdata <= data;
        end
        if (ends) begin
            resp <= m_axil_rready ? m_axil_rresp : m_axil_bresp;
            read <= m_axil_rdata;
        end
    end
endmodule
`default_nettype wire
