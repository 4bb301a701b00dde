// What the join promises of frames of every length that matters, for every order of arrivals and every back-pressure:
// each frame leaves with its own result, in order, with the beats and the length that the result gives it; one that is dropped, or of which nothing is left,
// leaves no beat.
//
// Bytes 0, 8 and 56 of a beat are its frame's number and its place there. A frame has 1 or 2 beats, the last of
// 3, 8, 56 or 64 bytes; a result may insert 8 bytes behind byte 14, or leave out the first 8.
module lengths_formal (
    input wire       clk,
    input wire       beat_valid,
    input wire       result_valid,
    input wire       hold,
    input wire       m_ready
);
    // Of each frame; the last one never comes.
    (* anyconst *) reg [3:0]  drops, grows, shrinks;
    (* anyconst *) reg [3:0]  two;           // beats, else one
    (* anyconst *) reg [7:0]  lengths;       // of its last beat
    wire [27:0] sizes;
    reg        rst = 1'b1;
    reg [1:0]  frame = 2'd0, result = 2'd0, out = 2'd0, out_place = 2'd0;
    reg        place = 1'b0;
    wire       last = place == two[frame];
    wire [6:0] size = last ? sizes[7*frame +: 7] : 7'd64;
    wire [7:0] tag = {4'd0, frame, 1'b0, place};
    wire [519:0] beat = {last, size, 56'd0, tag, 376'd0, tag, 56'd0, tag};
    wire         beat_ready, done, m_valid, m_last;
    wire [511:0] m_data;
    wire [63:0]  m_keep;
    wire [1:0]   m_side;
    wire [15:0]  length;

    p4_join #(.BEATS(1), .SIDE(2), .SHIFTS(2), .SPLITS({16'd0, 16'd14}), .DELTAS({16'hfff8, 16'd8})) join_ (
        .clk(clk), .rst(rst), .beat(beat), .beat_valid(beat_valid), .beat_ready(beat_ready), .written(64'd0),
        .bytes(512'd0), .shift({shrinks[result], grows[result]}), .drop(drops[result]), .side(result),
        .result_valid(result_valid), .done(done), .length(length), .hold(hold), .m_tdata(m_data), .m_tkeep(m_keep),
        .m_tlast(m_last), .m_tvalid(m_valid), .m_tready(m_ready), .m_side(m_side)
    );

    // What leaves of each frame, in bytes; what is due is the first from `out` on of which something does.
    wire [31:0] bytes;
    wire [3:0]  gone;
    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : each
            wire [1:0] kind = lengths[2*i +: 2];
            assign sizes[7*i +: 7] = kind == 2'd0 ? 7'd3 : kind == 2'd1 ? 7'd8 : kind == 2'd2 ? 7'd56 : 7'd64;
            wire [7:0] came = {1'b0, two[i], 6'd0} + {1'b0, sizes[7*i +: 7]};
            assign bytes[8*i +: 8] = came + (grows[i] ? 8'd8 : 8'd0) - (shrinks[i] ? 8'd8 : 8'd0);
            assign gone[i] = drops[i] || bytes[8*i +: 8] == 8'd0;
            always @(posedge clk) begin
                assume (!(grows[i] && shrinks[i]));
                assume (!shrinks[i] || came >= 8'd8);
            end
        end
    endgenerate
    wire [1:0] due = !gone[out] ? out : !gone[out + 2'd1] ? out + 2'd1 : out + 2'd2;
    wire [7:0] left = bytes[8*due +: 8] - {out_place, 6'd0};
    wire [1:0] from = grows[due] && out_place != 2'd0 ? out_place - 2'd1 : out_place;
    wire [7:0] came = {1'b0, two[result], 6'd0} + {1'b0, sizes[7*result +: 7]};

    always @(posedge clk) begin
        rst <= 1'b0;
        assume (!gone[3]);
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
