// What the register decoder promises: every access is answered, with DECERR where there is no block, also when a
// block never answers, and the blocks are asked one access at a time.
//
// Two blocks of 4 bytes each at 0 and 8 of a 16-byte space; they answer when they please, or never.
module decoder_formal (
    input wire       clk,
    input wire       awvalid,
    input wire       arvalid,
    input wire [3:0] addr,
    input wire       bready,
    input wire       rready,
    input wire [1:0] block_answers
);
    localparam LIMIT = 3;   // the decoder's patience
    localparam BOUND = 12;  // cycles to an answer, at most

    reg        rst = 1'b1;
    wire       awready, wready, arready, bvalid, rvalid;
    wire [1:0] bresp, rresp, ask;
    wire       ask_write;
    wire [3:0] ask_addr;
    wire [31:0] ask_data, rdata;
    reg  [1:0] busy = 2'b00;
    wire [1:0] answer = busy & block_answers;

    olaf_box_decoder #(
        .BLOCKS(2), .ADDR_BITS(4), .BASE({4'h8, 4'h0}), .MASK({4'hc, 4'hc}), .TIME_LIMIT(LIMIT)
    ) decoder (
        .clk(clk), .rst(rst),
        .s_axil_awaddr({28'd0, addr}), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(32'd0), .s_axil_wvalid(awvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
        .s_axil_araddr({28'd0, addr}), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
        .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .ask(ask), .ask_write(ask_write), .ask_addr(ask_addr), .ask_data(ask_data), .busy(busy),
        .answer(answer), .answer_resp(4'd0), .answer_data(64'd0)
    );

    reg       pending = 1'b0;   // an access was taken and not answered
    reg       is_write;
    reg       hole;
    reg [3:0] waited;

    always @(posedge clk) begin
        rst <= 1'b0;
        busy <= rst ? 2'b00 : (busy | ask) & ~answer;
        if (!rst) begin
            if ($past(!rst && (awvalid && !awready || arvalid && !arready))) begin
                assume (awvalid || !$past(awvalid && !awready));
                assume (arvalid || !$past(arvalid && !arready));
                assume (addr == $past(addr));
            end
            assert (!(awready && arready));
            assert (awready == wready);
            assert ((ask & (ask - 2'd1)) == 2'd0);
            assert ((ask & busy) == 2'd0);
            if (pending) assert (!awready && !arready);
            if (awready || arready) begin
                pending <= 1'b1;
                is_write <= awready;
                hole <= addr[2];
                waited <= 4'd0;
            end else if (pending && !(bvalid || rvalid)) begin
                waited <= waited + 4'd1;
                assert (waited < BOUND);
            end
            if (bvalid || rvalid) begin
                assert (pending);
                assert (bvalid == is_write && rvalid == !is_write);
                assert (((bvalid ? bresp : rresp) == 2'b11) == hole);
            end
            if (bvalid && bready || rvalid && rready) pending <= 1'b0;
            if ($past(!rst && bvalid && !bready)) assert (bvalid && bresp == $past(bresp));
            if ($past(!rst && rvalid && !rready)) assert (rvalid && rresp == $past(rresp) && rdata == $past(rdata));
        end
    end
endmodule
