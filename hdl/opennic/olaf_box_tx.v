// The way out to one port: a FIFO that keeps the ports apart. A busy port makes the box wait, so that OlafQueue
// sees the congestion; one that has not moved for STALL_CYCLES does not hold up the others any more: what finds
// no room there is dropped and counted until it moves again.
`default_nettype none
module olaf_box_tx #(
    parameter PORT = 0,               // which CMAC
    parameter DEPTH_BITS = 8,         // log2 of the beats it holds
    parameter STALL_CYCLES = 250_000  // 1 ms
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire [15:0]  s_size,       // bytes of the frame, right from its first beat
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire         s_tready,

    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire [15:0]  m_tuser_size,
    output wire [15:0]  m_tuser_src,
    output wire [15:0]  m_tuser_dst,
    output wire         m_tlast,
    output reg          m_tvalid,
    input  wire         m_tready,

    output wire         resting,      // nothing is in it
    output wire         sent,
    output wire         dropped_stalled
);
    localparam [DEPTH_BITS:0] BEATS = 1 << DEPTH_BITS;

    (* ram_style = "block" *) reg [16+577-1:0] beats [0:(1<<DEPTH_BITS)-1];
    reg [16+577-1:0]   beat;
    reg [DEPTH_BITS:0] put, got;
    reg [DEPTH_BITS:0] used;
    reg                mid_frame, dropping;
    reg [31:0]         stall;

    wire [15:0] size_less_one = s_size - 16'd1;
    wire [10:0] wanted = {1'b0, size_less_one[15:6]} + 11'd1;
    wire        fits = {{(16-DEPTH_BITS){1'b0}}, BEATS - used} >= {6'd0, wanted};
    wire        stalled = stall >= STALL_CYCLES;

    // A frame goes in when it has room for all of it, so once begun it never waits.
    wire drop = mid_frame ? dropping : !fits && stalled;
    wire open = mid_frame || fits || stalled;
    wire take = s_tvalid && s_tready;
    wire store = take && !drop;
    wire step = !m_tvalid || m_tready;
    wire read = step && put != got;

    assign s_tready = !rst && open;
    assign dropped_stalled = take && drop && s_tlast;
    assign sent = m_tvalid && m_tready && m_tlast;
    assign resting = put == got && !m_tvalid && !mid_frame;

    always @(posedge clk) begin
        if (store) beats[put[DEPTH_BITS-1:0]] <= {s_size, s_tlast, s_tkeep, s_tdata};
        if (read) beat <= beats[got[DEPTH_BITS-1:0]];
        if (take) dropping <= drop;
    end

    always @(posedge clk)
        if (rst) begin
            put <= {(DEPTH_BITS + 1){1'b0}};
            got <= {(DEPTH_BITS + 1){1'b0}};
            used <= {(DEPTH_BITS + 1){1'b0}};
            mid_frame <= 1'b0;
            m_tvalid <= 1'b0;
            stall <= 32'd0;
        end else begin
            if (store) put <= put + 1'b1;
            if (read) got <= got + 1'b1;
            used <= used + {{DEPTH_BITS{1'b0}}, store} - {{DEPTH_BITS{1'b0}}, read};
            if (take) mid_frame <= !s_tlast;
            if (step) m_tvalid <= read;
            if (m_tready || !m_tvalid) stall <= 32'd0;
            else if (!stalled) stall <= stall + 32'd1;
        end

    assign {m_tuser_size, m_tlast, m_tkeep, m_tdata} = beat;
    assign m_tuser_src = 16'd0;
    assign m_tuser_dst = 16'd1 << (6 + PORT);
    wire unused = &{1'b0, size_less_one[5:0]};
endmodule
`default_nettype wire
