// What the registers of a block promise: an entry takes effect whole, in one cycle, by a command alone, and once
// `command` reads 0 no frame is left that saw the state before. The master writes and reads what it likes, one
// access at a time, without sweeps; frames enter and leave at any time, in their order. Three bits of a word vary.
module config_formal (
    input wire        clk,
    input wire        go,
    input wire        reads,
    input wire [2:0]  which,
    input wire [2:0]  value,
    input wire        bready,
    input wire        enters,
    input wire        leaves,
    input wire        moves
);
    reg  [1:0]  resets = 2'd0;
    wire        rst = resets != 2'd2;
    reg         valid = 1'b0, sent = 1'b0;      // a write is offered; it is taken and not answered
    reg         asks = 1'b0, asked = 1'b0;      // likewise a read
    reg  [19:0] address = 20'd0;
    reg  [31:0] data = 32'd0;
    wire        awready, wready, bvalid, set, clear, set_default, take, arready, rvalid;
    wire [1:0]  bresp, rresp;
    wire [31:0] rdata, slot;
    wire [7:0]  target;
    wire [63:0] words;
    reg  [1:0]  present = 2'd0;                 // frames inside
    reg  [1:0]  old = 2'd0;                     // of them, those that saw the state before
    reg         late = 1'b0;                    // one of these is at the output
    wire        enter = enters && present != 2'd3 && !rst;
    wire        leave = leaves && present != 2'd0 && moves && !rst;
    p4_config #(.WORDS(2), .FRAMES(2)) config_ (
        .clk(clk), .rst(rst), .awaddr(address), .awvalid(valid), .awready(awready), .wdata(data), .wvalid(valid),
        .wready(wready), .bresp(bresp), .bvalid(bvalid), .bready(bready), .araddr(20'h018), .arvalid(asks),
        .arready(arready), .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(1'b1), .set(set), .clear(clear),
        .set_default(set_default), .take(take), .target(target), .slot(slot), .words(words), .taken(1'b0),
        .value(64'd0), .cell_taken(1'b0), .cell_value(64'd0), .present(present), .leave(leave), .moves(moves)
    );

    reg  [7:0]  target_is;                      // what was written last
    reg  [31:0] slot_is;
    reg  [63:0] words_are;
    reg         acted = 1'b0;                   // since the command was offered
    reg         done = 1'b0;                    // no such frame was left when the read was taken
    wire        acts = set || clear || set_default || take;
    wire        commands = address == 20'h018 && data[2:0] >= 3'd1 && data[2:0] <= 3'd4;

    always @(posedge clk) begin
        present <= present + {1'b0, enter} - {1'b0, leave};
        if (set || clear || set_default) begin
            old <= present + {1'b0, enter} - {1'b0, leave};
            late <= 1'b1;
        end else begin
            if (leave && old != 2'd0) old <= old - 2'd1;
            late <= (leave && old != 2'd0) || (late && !moves);
        end
        if (rst) begin
            resets <= resets + 2'd1;
            target_is <= target;
            slot_is <= slot;
            words_are <= words;
        end else begin
            if (!valid && !sent && go) begin
                valid <= 1'b1;
                address <= which == 3'd0 ? 20'h010 : which == 3'd1 ? 20'h014 : which == 3'd2 ? 20'h040 :
                           which == 3'd3 ? 20'h044 : which == 3'd4 ? 20'h1018 : 20'h018;
                data <= {29'd0, value};
                acted <= 1'b0;
            end
            if (valid) begin
                assume (data[2:0] != 3'd5 && data[2:0] != 3'd6 || address != 20'h018);
                assert (awready && wready);
                {valid, sent} <= 2'b01;
            end
            if (reads && !asks && !asked && !valid && !sent) asks <= 1'b1;
            if (asks && arready) begin
                {asks, asked} <= 2'b01;
                done <= old == 2'd0 && !late;
            end
            if (rvalid) begin
                asked <= 1'b0;
                assert (rresp == 2'b00);
                if (rdata == 32'd0) assert (done);
            end
            if (acts) begin
                // By a command, once, with all that was written before.
                assert (commands && !acted);
                assert ({take, set_default, clear, set} ==
                        {data[2:0] == 3'd4, data[2:0] == 3'd3, data[2:0] == 3'd2, data[2:0] == 3'd1});
                assert (target == target_is && slot == slot_is && words == words_are);
                acted <= 1'b1;
            end
            if (bvalid) begin
                assert (sent);
                assert (bresp == (address == 20'h1018 ? 2'b11 : 2'b00));
                if (bready) begin
                    sent <= 1'b0;
                    if (address == 20'h010) target_is <= data[7:0];
                    if (address == 20'h014) slot_is <= data;
                    if (address == 20'h040) words_are[31:0] <= data;
                    if (address == 20'h044) words_are[63:32] <= data;
                end
            end
        end
    end
endmodule
