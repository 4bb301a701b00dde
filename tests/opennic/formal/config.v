// What the registers of a block promise: an entry takes effect whole, in one cycle, by a command alone, and the
// command is answered when no frame can be left that saw the state before.
module config_formal (
    input wire        clk,
    input wire [11:0] awaddr,
    input wire        awvalid,
    input wire [31:0] wdata,
    input wire        wvalid,
    input wire        bready
);
    localparam DRAIN = 3;
    reg         rst = 1'b1;
    wire        awready, wready, bvalid, set, clear, set_default, take, arready, rvalid;
    wire [1:0]  bresp, rresp;
    wire [31:0] rdata, slot;
    wire [7:0]  target;
    wire [63:0] words;
    p4_config #(.WORDS(2), .DRAIN(DRAIN)) config_ (
        .clk(clk), .rst(rst), .awaddr(awaddr), .awvalid(awvalid), .awready(awready), .wdata(wdata), .wvalid(wvalid),
        .wready(wready), .bresp(bresp), .bvalid(bvalid), .bready(bready), .araddr(12'd0), .arvalid(1'b0),
        .arready(arready), .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(1'b1), .set(set), .clear(clear),
        .set_default(set_default), .take(take), .target(target), .slot(slot), .words(words), .taken(1'b0),
        .value(64'd0)
    );

    // What the writes that were answered, or are about to be, have left.
    reg         got_address, got_data;
    reg [11:0]  address;
    reg [31:0]  data, slot_is;
    reg [63:0]  words_are;
    reg [7:0]   target_is;
    reg         acting;          // a command was taken and is not answered
    reg [31:0]  quiet;           // cycles since an act
    wire        acts = set || clear || set_default || take;
    wire        whole = got_address && got_data;
    wire        is_command = address == 12'h018;
    initial {got_address, got_data, acting} = 3'b000;
    initial quiet = 32'd0;

    always @(posedge clk) begin
        rst <= 1'b0;
        if (rst) begin
            assume (!awvalid && !wvalid);
        end else begin
            // One write at a time, without a sweep.
            if (awvalid) assume (!got_address);
            if (wvalid) assume (!got_data);
            if (wvalid && ((awvalid ? awaddr : address) == 12'h018)) assume (!wdata[3]);
            if (got_data && awvalid && awaddr == 12'h018) assume (!data[3]);
            if ($past(!rst && awvalid && !awready)) assume (awvalid && awaddr == $past(awaddr));
            if ($past(!rst && wvalid && !wready)) assume (wvalid && wdata == $past(wdata));
            if (awvalid && awready) {got_address, address} <= {1'b1, awaddr};
            if (wvalid && wready) {got_data, data} <= {1'b1, wdata};
            if (bvalid && bready) {got_address, got_data} <= 2'b00;

            quiet <= acts ? 32'd0 : quiet + 32'd1;
            assert (set + clear + set_default + take <= 1);
            if (acts) begin
                // By a command that is not answered yet, once, with all that was written before.
                assert (whole && is_command && !bvalid && !acting);
                assert ({take, set_default, clear, set} ==
                        {data[2:0] == 3'd4, data[2:0] == 3'd3, data[2:0] == 3'd2, data[2:0] == 3'd1});
                assert (target == target_is && slot == slot_is && words == words_are);
                acting <= 1'b1;
            end
            if (bvalid) begin
                assert (whole);
                if (is_command && data[2:0] >= 3'd1 && data[2:0] <= 3'd4) begin
                    assert (acting);
                    assert (quiet >= DRAIN);
                end
                if (bready) begin
                    acting <= 1'b0;
                    case (address)
                        12'h010: target_is <= data[7:0];
                        12'h014: slot_is <= data;
                        12'h040: words_are[31:0] <= data;
                        12'h044: words_are[63:32] <= data;
                        default: ;
                    endcase
                end
            end
            // Until then nothing of the entry changes.
            if (acting && $past(acting)) assert ({target, slot, words} == $past({target, slot, words}));
        end
        if (rst) begin
            target_is <= target;
            slot_is <= slot;
            words_are <= words;
        end
    end
endmodule
