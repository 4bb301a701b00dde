// What the arbiter promises, for every order of arrivals and every back-pressure.
//
// Each input numbers its beats and says which it is; of the other bits of a beat nothing is assumed.
module arbiter_formal (
    input wire        clk,
    input wire [2:0]  valid,
    input wire [2:0]  last,
    input wire        m_ready
);
    reg        rst = 1'b1;
    reg [3:0]  next_in [0:2];
    reg [3:0]  next_out [0:2];
    reg        mid_frame;
    reg [1:0]  of;
    wire [2:0] ready;
    wire [512*3-1:0] data = {508'd0, next_in[2], 508'd0, next_in[1], 508'd0, next_in[0]};
    wire [511:0] m_data;
    wire [63:0]  m_keep;
    wire [1:0]   m_user;
    wire         m_last, m_valid;

    olaf_box_arbiter #(.INPUTS(3), .USER_BITS(2)) arbiter (
        .clk(clk), .rst(rst), .s_tdata(data), .s_tkeep({192{1'b1}}), .s_tuser({2'd2, 2'd1, 2'd0}), .s_tlast(last),
        .s_tvalid(valid), .s_tready(ready),
        .m_tdata(m_data), .m_tkeep(m_keep), .m_tuser(m_user), .m_tlast(m_last), .m_tvalid(m_valid), .m_tready(m_ready)
    );

    integer i;
    initial for (i = 0; i < 3; i = i + 1) begin
        next_in[i] = 4'd0;
        next_out[i] = 4'd0;
    end
    initial mid_frame = 1'b0;

    always @(posedge clk) begin
        rst <= 1'b0;
        if (rst) begin
            assume (valid == 3'd0);
        end else begin
            for (i = 0; i < 3; i = i + 1) begin
                // AXI4-Stream at the inputs.
                if ($past(!rst && valid[i] && !ready[i])) begin
                    assume (valid[i]);
                    assume (last[i] == $past(last[i]));
                end
                if (valid[i] && ready[i]) next_in[i] <= next_in[i] + 4'd1;
            end
            // AXI4-Stream at the output.
            if ($past(!rst && m_valid && !m_ready)) begin
                assert (m_valid);
                assert ({m_data[3:0], m_user, m_last} == $past({m_data[3:0], m_user, m_last}));
            end
            if (m_valid) begin
                // No beat is lost, doubled or out of order, and no frame is broken by another.
                assert (m_user != 2'd3);
                assert (m_data[3:0] == next_out[m_user]);
                if (mid_frame) assert (m_user == of);
                if (m_ready) begin
                    next_out[m_user] <= next_out[m_user] + 4'd1;
                    mid_frame <= !m_last;
                    of <= m_user;
                end
            end
        end
    end
endmodule
