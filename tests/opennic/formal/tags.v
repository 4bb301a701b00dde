// What becomes of the tags of Corundum's frames from the host, whatever the host, the MACs and the box do: each is
// given back once, in order, on its own lane, and soon; no frame of the box gives one back.
module tags_formal (
    input wire       clk,
    input wire       again,         // a reset in between
    input wire       control,       // what lane 0 sends is a packet-out
    input wire [1:0] watch,         // from here on the lane's next frame is followed
    input wire [7:0] tag,
    input wire [1:0] valid, last, error, completed,
    input wire [1:0] mac_valid, mac_last, to_mac, to_host,
    input wire [4:0] into, of_valid, of_last
);
    localparam LANES = 2;
    reg        first = 1'b1;
    wire       rst = first || again;
    wire [1:0] ready, given;
    wire [7:0] given_tag;

    olaf_corundum_streams #(.LANES(LANES), .WIDTH(512), .TAG_BITS(4), .OUT_BITS(2), .TX_USER(5)) streams (
        .clk(clk), .rst(rst),
        .s_axis_sync_tx_tdata({800'd0, control ? 16'hb588 : 16'd0, 96'd0}), .s_axis_sync_tx_tkeep({128{1'b1}}),
        .s_axis_sync_tx_tuser({tag[7:4], error[1], tag[3:0], error[0]}), .s_axis_sync_tx_tlast(last),
        .s_axis_sync_tx_tvalid(valid), .s_axis_sync_tx_tready(ready),
        .m_axis_sync_tx_cpl_tag(given_tag), .m_axis_sync_tx_cpl_valid(given), .m_axis_sync_tx_cpl_ready(completed),
        .m_axis_sync_tx_tready(to_mac),
        .s_axis_sync_rx_tdata(1024'd0), .s_axis_sync_rx_tkeep({128{1'b1}}), .s_axis_sync_rx_tuser(2'd0),
        .s_axis_sync_rx_tlast(mac_last), .s_axis_sync_rx_tvalid(mac_valid), .m_axis_sync_rx_tready(to_host),
        .to_box_tready(into), .of_box_tdata(2560'd0), .of_box_tkeep({320{1'b1}}), .of_box_tlast(of_last),
        .of_box_tvalid(of_valid)
    );

    always @(posedge clk) first <= 1'b0;
    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : lane
            wire      sent = valid[i] && ready[i] && last[i];
            wire      back = given[i] && completed[i];
            reg [3:0] out;        // frames sent and not completed
            reg [3:0] ahead;      // of them before the one that is followed
            reg       following;
            reg [3:0] followed;
            reg [1:0] late;
            always @(posedge clk) begin
                out <= rst ? 4'd0 : out + sent - back;
                late <= rst || given[i] || out == 4'd0 ? 2'd0 : late + 2'd1;
                following <= !rst && (following ? !(back && ahead == 4'd0) : sent && watch[i]);
                if (!following) followed <= tag[4*i +: 4];
                ahead <= following ? ahead - back : out - back;
                if (!rst) begin
                    assert (out <= 4'd6);
                    assert (late <= 2'd2);
                    if (given[i]) assert (out != 4'd0);
                    if (following && given[i] && ahead == 4'd0) assert (given_tag[4*i +: 4] == followed);
                    if (!$past(rst) && $past(given[i] && !completed[i]))
                        assert (given[i] && given_tag[4*i +: 4] == $past(given_tag[4*i +: 4]));
                end
            end
        end
    endgenerate
endmodule
