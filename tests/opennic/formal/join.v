// What the join promises, for every order of arrivals and every back-pressure: each frame leaves with its own result,
// in order, with the beats and the length that the result gives it; one that is dropped leaves no beat.
//
// Byte 0 and byte 56 of a beat are its frame's number and its place there. A frame has 1 or 2 beats; a result may
// insert 8 bytes behind byte 14.
module join_formal (
    input wire       clk,
    input wire       beat_valid,
    input wire       result_valid,
    input wire       hold,
    input wire       m_ready
);
    // Of each frame; the last one never comes.
    (* anyconst *) reg [3:0] drops, grows;
    (* anyconst *) reg [3:0] two;            // beats, else one
    (* anyconst *) reg [3:0] long;           // its last beat has 60 bytes, else 50
    reg        rst = 1'b1;
    reg [1:0]  frame = 2'd0, result = 2'd0, out = 2'd0, out_place = 2'd0;
    reg        place = 1'b0;
    wire       last = place == two[frame];
    wire [6:0] size = !last ? 7'd64 : long[frame] ? 7'd60 : 7'd50;
    wire [7:0] tag = {4'd0, frame, 1'b0, place};
    wire [519:0] beat = {last, size, 56'd0, tag, 440'd0, tag};
    wire         beat_ready, done, m_valid, m_last;
    wire [511:0] m_data;
    wire [63:0]  m_keep;
    wire [1:0]   m_side;
    wire [15:0]  length;

    p4_join #(.BEATS(1), .SIDE(2), .SHIFTS(1), .SPLITS(16'd14), .DELTAS(16'd8)) join_ (
        .clk(clk), .rst(rst), .beat(beat), .beat_valid(beat_valid), .beat_ready(beat_ready), .written(64'd0),
        .bytes(512'd0), .shift(grows[result]), .drop(drops[result]), .side(result), .result_valid(result_valid),
        .done(done), .length(length), .hold(hold), .m_tdata(m_data), .m_tkeep(m_keep), .m_tlast(m_last),
        .m_tvalid(m_valid), .m_tready(m_ready), .m_side(m_side)
    );

    // What is due: the first frame from `out` on that is not dropped.
    wire [1:0] due = !drops[out] ? out : !drops[out + 2'd1] ? out + 2'd1 : out + 2'd2;
    wire [7:0] bytes = {1'b0, two[due], 6'd0} + (long[due] ? 8'd60 : 8'd50) + (grows[due] ? 8'd8 : 8'd0);
    wire [7:0] left = bytes - {out_place, 6'd0};
    wire [1:0] from = grows[due] && out_place != 2'd0 ? out_place - 2'd1 : out_place;
    wire [7:0] came = {1'b0, two[result], 6'd0} + (long[result] ? 8'd60 : 8'd50);

    always @(posedge clk) begin
        rst <= 1'b0;
        assume (!drops[3]);
        if (rst) begin
            assume (!beat_valid && !result_valid);
        end else begin
            assume (frame != 2'd3 || !beat_valid);
            if ($past(!rst && beat_valid && !beat_ready)) assume (beat_valid);
            if ($past(!rst && result_valid && !done)) assume (result_valid);
            if (beat_valid && beat_ready) begin
                place <= !last;
                frame <= frame + {1'b0, last};
            end
            if (done) begin
                assert (result_valid && !hold);
                assert (length == {8'd0, came});
                result <= result + 2'd1;
            end
            if ($past(!rst && m_valid && !m_ready)) begin
                assert (m_valid);
                assert ({m_data[7:0], m_keep, m_side, m_last} == $past({m_data[7:0], m_keep, m_side, m_last}));
            end
            if (m_valid) begin
                assert (m_side == due);
                assert (m_data[3:2] == due);
                assert (m_data[1:0] == from);
                assert (m_last == (left <= 8'd64));
                assert (m_keep == (m_last ? ~({64{1'b1}} << left[6:0]) : {64{1'b1}}));
                if (m_ready) begin
                    out_place <= m_last ? 2'd0 : out_place + 2'd1;
                    if (m_last) out <= due + 2'd1;
                end
            end
        end
    end
endmodule
