// What becomes of the tags of Corundum's frames from the host, whatever the host, the MACs and the box do: each is
// given back once, in order, on its own lane, and soon; no frame of the box gives one back. Each beat that is taken is
// shown to the box once, at its own port, with its end and its error.
module tags_formal (
    input wire       clk,
    input wire       again,         // a reset in between
    input wire       control,       // what lane 0 sends is a packet-out
    input wire [1:0] watch,         // from here on the lane's next frame is followed
    input wire [7:0] tag,
    input wire [1:0] valid, last, error, completed,
    input wire       box_rst_done,
    input wire [1:0] mac_valid, mac_last, to_mac, to_host,
    input wire [4:0] takes, of_valid, of_last
);
    localparam LANES = 2;
    reg        first = 1'b1;
    wire       rst = first || again;
    wire [1:0] ready, given;
    wire [7:0] given_tag;
    wire [4:0] into = first ? 5'd0 : takes;  // what a stage holds at power-up is nothing
    wire [4:0] box_valid, box_last;
    wire [319:0] box_keep;
    wire [1:0] swallowed, host_user;
    wire [9:0] mac_user;
    wire [191:0] stamp;

    olaf_corundum_streams #(.LANES(LANES), .WIDTH(512), .TAG_BITS(4), .OUT_BITS(2), .TX_USER(5)) streams (
        .clk(clk), .rst(rst), .box_rst_done(box_rst_done),
        .s_axis_sync_tx_tdata({800'd0, control ? 16'hb588 : 16'd0, 96'd0}), .s_axis_sync_tx_tkeep({128{1'b1}}),
        .s_axis_sync_tx_tuser({tag[7:4], error[1], tag[3:0], error[0]}), .s_axis_sync_tx_tlast(last),
        .s_axis_sync_tx_tvalid(valid), .s_axis_sync_tx_tready(ready),
        .m_axis_sync_tx_cpl_tag(given_tag), .m_axis_sync_tx_cpl_valid(given), .m_axis_sync_tx_cpl_ready(completed),
        .m_axis_sync_tx_cpl_ts(stamp), .s_axis_sync_tx_cpl_ready(swallowed),
        .m_axis_sync_tx_tuser(mac_user), .m_axis_sync_rx_tuser(host_user), .m_axis_sync_tx_tready(to_mac),
        .s_axis_sync_rx_tdata(1024'd0), .s_axis_sync_rx_tkeep({128{1'b1}}), .s_axis_sync_rx_tuser(2'd0),
        .s_axis_sync_rx_tlast(mac_last), .s_axis_sync_rx_tvalid(mac_valid), .m_axis_sync_rx_tready(to_host),
        .to_box_tkeep(box_keep), .to_box_tlast(box_last), .to_box_tvalid(box_valid), .to_box_tready(into),
        .of_box_tdata(2560'd0), .of_box_tkeep({320{1'b1}}), .of_box_tlast(of_last), .of_box_tvalid(of_valid)
    );

    always @(posedge clk) begin
        first <= 1'b0;
        assert (mac_user == 10'd0 && host_user == 2'd0 && stamp == 192'd0 && swallowed == 2'b11);
    end

    // Lane 0's beats go to the box's H2C (4) or to its port (2), whole frames to one of them.
    reg  was_control, route, mid_frame = 1'b0;
    wire into_control = mid_frame ? route : was_control;
    always @(posedge clk) begin
        if (valid[0] && ready[0]) was_control <= control;
        if (|(box_valid & into & 5'b10100)) begin
            mid_frame <= !box_last[2];
            route <= into_control;
        end
        if (!first) assert (!box_valid[into_control ? 2 : 4]);
    end

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
            wire      shown = box_valid[2+i] || (i == 0 && box_valid[4]);
            wire      gone = |(box_valid & into & (i == 0 ? 5'b10100 : 5'b01000));
            wire      empty = ~|box_keep[64*(2+i) +: 64];
            reg       had, had_last, had_error;     // a beat that the box has not taken
            reg       may_end;                      // of a frame that a reset has cut
            always @(posedge clk) begin
                out <= rst ? 4'd0 : out + sent - back;
                late <= rst || given[i] || out == 4'd0 ? 2'd0 : late + 2'd1;
                following <= !rst && (following ? !(back && ahead == 4'd0) : sent && watch[i]);
                if (!following) followed <= tag[4*i +: 4];
                ahead <= following ? ahead - back : out - back;
                had <= !rst && ((valid[i] && ready[i]) || (had && !gone));
                if (valid[i] && ready[i]) {had_last, had_error} <= {last[i], error[i]};
                may_end <= rst || (may_end && !gone);
                if (!rst) begin
                    if (had) assert (shown && box_last[2+i] == had_last && empty == (had_last && had_error));
                    else if (shown) assert (may_end && box_last[2+i] && empty);
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
