// What the registers of a block promise: an entry takes effect whole, in one cycle, by a command alone, and the
// command is answered when no frame can be left that saw the state before. The master writes what it likes, one
// write at a time, without sweeps.
module config_formal (
    input wire        clk,
    input wire        go,
    input wire [2:0]  which,
    input wire [31:0] value,
    input wire        bready
);
    localparam DRAIN = 3;
    reg  [1:0]  resets = 2'd0;
    wire        rst = resets != 2'd2;
    reg         valid = 1'b0, sent = 1'b0;      // a write is offered; it is taken and not answered
    reg  [11:0] address = 12'd0;
    reg  [31:0] data = 32'd0;
    wire        awready, wready, bvalid, set, clear, set_default, take, arready, rvalid;
    wire [1:0]  bresp, rresp;
    wire [31:0] rdata, slot;
    wire [7:0]  target;
    wire [63:0] words;
    p4_config #(.WORDS(2), .DRAIN(DRAIN)) config_ (
        .clk(clk), .rst(rst), .awaddr(address), .awvalid(valid), .awready(awready), .wdata(data), .wvalid(valid),
        .wready(wready), .bresp(bresp), .bvalid(bvalid), .bready(bready), .araddr(12'd0), .arvalid(1'b0),
        .arready(arready), .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(1'b1), .set(set), .clear(clear),
        .set_default(set_default), .take(take), .target(target), .slot(slot), .words(words), .taken(1'b0),
        .value(64'd0)
    );

    reg  [7:0]  target_is;                      // what was written last
    reg  [31:0] slot_is;
    reg  [63:0] words_are;
    reg         acted = 1'b0;                   // since the command was offered
    reg  [2:0]  quiet = 3'd0;                   // cycles since then
    wire        acts = set || clear || set_default || take;
    wire        commands = address == 12'h018 && data[2:0] >= 3'd1 && data[2:0] <= 3'd4;

    always @(posedge clk) begin
        if (rst) begin
            resets <= resets + 2'd1;
            target_is <= target;
            slot_is <= slot;
            words_are <= words;
        end else begin
            if (!valid && !sent && go) begin
                valid <= 1'b1;
                address <= which == 3'd0 ? 12'h010 : which == 3'd1 ? 12'h014 : which == 3'd2 ? 12'h040 :
                           which == 3'd3 ? 12'h044 : which == 3'd4 ? 12'h100 : 12'h018;
                data <= which > 3'd4 ? {29'd0, value[2:0]} : value;
                acted <= 1'b0;
            end
            if (valid) begin
                assert (awready && wready);
                {valid, sent} <= 2'b01;
            end
            quiet <= acts ? 3'd0 : quiet + {2'd0, quiet != 3'd7};
            if (acts) begin
                // By a command, before it is answered, once, with all that was written before.
                assert (sent && commands && !bvalid && !acted);
                assert ({take, set_default, clear, set} ==
                        {data[2:0] == 3'd4, data[2:0] == 3'd3, data[2:0] == 3'd2, data[2:0] == 3'd1});
                acted <= 1'b1;
            end
            if (acted || acts) assert (target == target_is && slot == slot_is && words == words_are);
            if (bvalid) begin
                assert (sent);
                if (commands) assert (acted && quiet >= DRAIN);
                if (bready) begin
                    {sent, acted} <= 2'b00;
                    if (address == 12'h010) target_is <= data[7:0];
                    if (address == 12'h014) slot_is <= data;
                    if (address == 12'h040) words_are[31:0] <= data;
                    if (address == 12'h044) words_are[63:32] <= data;
                end
            end
        end
    end
endmodule
