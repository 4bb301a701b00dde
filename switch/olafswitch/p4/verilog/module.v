`default_nettype none
module $name (
    input  wire clk,
    input  wire rst,
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0] s_axis_tkeep,
    input  wire s_axis_tlast,
    input  wire s_axis_tvalid,
    output wire s_axis_tready,
    $inputs
    output wire [511:0] m_axis_tdata,
    output wire [63:0] m_axis_tkeep,
    output wire m_axis_tlast,
    output wire m_axis_tvalid,
    input  wire m_axis_tready,
    $outputs
    input  wire [19:0] s_axi_awaddr,
    input  wire s_axi_awvalid,
    output wire s_axi_awready,
    input  wire [31:0] s_axi_wdata,
    input  wire s_axi_wvalid,
    output wire s_axi_wready,
    output wire [1:0] s_axi_bresp,
    output wire s_axi_bvalid,
    input  wire s_axi_bready,
    input  wire [19:0] s_axi_araddr,
    input  wire s_axi_arvalid,
    output wire s_axi_arready,
    output wire [31:0] s_axi_rdata,
    output wire [1:0] s_axi_rresp,
    output wire s_axi_rvalid,
    input  wire s_axi_rready
);
    wire cell_ask, cell_write, cell_taken;
    wire [63:0] cell_value;
    wire cfg_set, cfg_clear, cfg_default, cfg_take;
    wire [7:0] cfg_target;
    wire [31:0] cfg_slot;
    wire ${words_vector}cfg_words;
    wire ${window_vector}window;
    wire [15:0] in_bytes;
    wire ${side_in_vector}window_side;
    wire window_valid, store_valid, beat_valid, beat_ready, done, hold;
    wire [$credit_bits:0] present;
    wire [519:0] stored, beat;
    wire [$store_bits:0] store_level;
    p4_intake #(.BEATS($beats), .SIDE($side_in_bits), .STORE_BITS($store_bits), .CREDIT_BITS($credit_bits)) intake (
        .clk(clk), .rst(rst), .s_tdata(s_axis_tdata), .s_tkeep(s_axis_tkeep), .s_tlast(s_axis_tlast),
        .s_tvalid(s_axis_tvalid), .s_tready(s_axis_tready), .s_side({$side_in}),
        .window(window), .window_bytes(in_bytes), .window_side(window_side), .window_valid(window_valid),
        .store(stored), .store_valid(store_valid), .store_level(store_level), .leave(done), .pause(cell_ask),
        .present(present)
    );
    p4_fifo #(.WIDTH(520), .BITS($store_bits)) frames (
        .clk(clk), .rst(rst), .s_data(stored), .s_valid(store_valid), .m_data(beat), .m_valid(beat_valid),
        .m_ready(beat_ready), .level(store_level)
    );
    wire ${window_vector}in_frame;
    genvar i;
    generate for (i = 0; i < $window_bytes; i = i + 1) begin : reversed_
        assign in_frame[8*($last_byte-i) +: 8] = window[8*i +: 8];
    end endgenerate
    $side_in_wires
    assign {$side_in_names} = window_side;
    $valid
    wire [$length:0] reached = {$reached};
    $declared
    always @(posedge clk) begin
        $clocked
    end
    wire unused = &{1'b0, window, $unused};
    $tables
    $registers
    wire ${result_vector}result = {$result};
    wire ${result_vector}made;
    wire [$credit_bits:0] results_level;
    wire made_valid;
    wire [15:0] frame_length;
    p4_fifo #(.WIDTH($result_bits), .BITS($credit_bits)) results (
        .clk(clk), .rst(rst), .s_data(result), .s_valid(reached[$length]), .m_data(made), .m_valid(made_valid),
        .m_ready(done), .level(results_level)
    );
    $picked
    p4_join #(.BEATS($edited_beats), .SIDE($side_out_bits), .SHIFTS($shifts), .SPLITS($splits), .DELTAS($deltas)) join_ (
        .clk(clk), .rst(rst), .beat(beat), .beat_valid(beat_valid), .beat_ready(beat_ready),
        .written({$written}),
        .bytes({$bytes}),
        .shift({$shift}), .drop(r_drop), .side({$side_made}),
        .result_valid(made_valid), .done(done), .length(frame_length), .hold(hold),
        .m_side({$side_out}), .m_tdata(m_axis_tdata), .m_tkeep(m_axis_tkeep),
        .m_tlast(m_axis_tlast), .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready)
    );
    wire unused2 = &{1'b0, results_level, frame_length, cfg_slot, cfg_words, cell_write,
        cfg_set, cfg_clear, cfg_default, cfg_target};
    // A counter is taken in a cycle in which no frame may count.
    wire taking = cfg_take;
    assign hold = taking;
    $counters
    p4_config #(.WORDS($words), .TABLES($table_count), .COUNTERS($counter_count), .FRAMES($frames), .DIGEST($digest)) config_ (
        .clk(clk), .rst(rst), .awaddr(s_axi_awaddr), .awvalid(s_axi_awvalid), .awready(s_axi_awready),
        .wdata(s_axi_wdata), .wvalid(s_axi_wvalid), .wready(s_axi_wready), .bresp(s_axi_bresp), .bvalid(s_axi_bvalid),
        .bready(s_axi_bready), .araddr(s_axi_araddr), .arvalid(s_axi_arvalid), .arready(s_axi_arready),
        .rdata(s_axi_rdata), .rresp(s_axi_rresp), .rvalid(s_axi_rvalid), .rready(s_axi_rready),
        .set(cfg_set), .clear(cfg_clear), .set_default(cfg_default), .take(cfg_take), .target(cfg_target),
        .slot(cfg_slot), .words(cfg_words), .taken(cfg_taken), .value(cfg_value), .cell_ask(cell_ask),
        .cell_write(cell_write), .cell_taken(cell_taken), .cell_value(cell_value), .present(present), .leave(done),
        .moves(!m_axis_tvalid || m_axis_tready)
    );
endmodule
`default_nettype wire
