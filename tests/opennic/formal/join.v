// What the join promises, for every order of arrivals and every back-pressure: each frame leaves with its own result,
// in order, with the beats and the length that the result gives it; one that is dropped leaves no beat.
//
// Byte 0 and byte 56 of a beat are its frame's number and its place there. A frame has 1 … 3 beats; a result may
// insert 8 bytes behind byte 14.
module join_formal (
    input wire       clk,
    input wire       beat_valid,
    input wire       result_valid,
    input wire       hold,
    input wire       m_ready
);
    (* anyconst *) reg [7:0]  drops, grows;  // of each frame
    (* anyconst *) reg [15:0] lengths;       // beats - 1
    (* anyconst *) reg [7:0]  short_;        // whether its last beat has 60 bytes, else 50
    reg        rst = 1'b1;
    reg [2:0]  frame = 3'd0, result = 3'd0, out = 3'd0;
    reg [1:0]  place = 2'd0, out_place = 2'd0;
    wire [1:0] beats = lengths[2*frame +: 2];
    wire       last = place == beats;
    wire [6:0] size = !last ? 7'd64 : short_[frame] ? 7'd60 : 7'd50;
    wire [7:0] tag = {3'd0, frame, place};
    wire [519:0] beat = {last, size, 56'd0, tag, 440'd0, tag};
    wire         beat_ready, done, m_valid, m_last;
    wire [511:0] m_data;
    wire [63:0]  m_keep;
    wire [2:0]   m_side;
    wire [15:0]  length;

    p4_join #(.BEATS(1), .SIDE(3), .SHIFTS(1), .SPLITS(16'd14), .DELTAS(16'd8)) join_ (
        .clk(clk), .rst(rst), .beat(beat), .beat_valid(beat_valid), .beat_ready(beat_ready), .written(64'd0),
        .bytes(512'd0), .shift(grows[result]), .drop(drops[result]), .side(result), .result_valid(result_valid),
        .done(done), .length(length), .hold(hold), .m_tdata(m_data), .m_tkeep(m_keep), .m_tlast(m_last),
        .m_tvalid(m_valid), .m_tready(m_ready), .m_side(m_side)
    );

    // What is due: the first frame from `out` on that is not dropped.
    reg [2:0]  due;
    integer    i;
    always @* begin
        due = out;
        for (i = 7; i >= 0; i = i - 1) if (i[2:0] >= out && !drops[i]) due = i[2:0];
    end
    wire [8:0] bytes = 9'd64 * lengths[2*due +: 2] + (short_[due] ? 9'd60 : 9'd50) + (grows[due] ? 9'd8 : 9'd0);
    wire [8:0] left = bytes - 9'd64 * out_place;
    wire [1:0] from = grows[due] && out_place != 2'd0 ? out_place - 2'd1 : out_place;
    wire [8:0] came = 9'd64 * lengths[2*result +: 2] + (short_[result] ? 9'd60 : 9'd50);

    always @(posedge clk) begin
        rst <= 1'b0;
        for (i = 0; i < 8; i = i + 1) assume (lengths[2*i +: 2] != 2'd3);
        if (rst) begin
            assume (!beat_valid && !result_valid);
        end else begin
            assume (frame != 3'd7 || !beat_valid);
            if ($past(!rst && beat_valid && !beat_ready)) assume (beat_valid);
            if ($past(!rst && result_valid && !done)) assume (result_valid);
            if (beat_valid && beat_ready) begin
                place <= last ? 2'd0 : place + 2'd1;
                frame <= frame + {2'd0, last};
            end
            if (done) begin
                assert (result_valid && !hold);
                assert (length == {7'd0, came});
                result <= result + 3'd1;
            end
            if ($past(!rst && m_valid && !m_ready)) begin
                assert (m_valid);
                assert ({m_data[7:0], m_keep, m_side, m_last} == $past({m_data[7:0], m_keep, m_side, m_last}));
            end
            if (m_valid) begin
                assert (m_side == due);
                assert (m_data[4:2] == due);
                assert (m_data[1:0] == from);
                assert (m_last == (left <= 9'd64));
                assert (m_keep == (m_last ? ~({64{1'b1}} << left[6:0]) : {64{1'b1}}));
                if (m_ready) begin
                    out_place <= m_last ? 2'd0 : out_place + 2'd1;
                    if (m_last) out <= due + 3'd1;
                end
            end
        end
    end
endmodule
