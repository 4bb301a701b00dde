// What the replicator promises, for every order of frames of one and two beats and every back-pressure.
//
// Group 1 has two copies, at ports 1 and 2; group 0 is unicast to port 1. A frame numbers its beats and says how
// many copies it must have; of the other bits nothing is assumed. One for a port may say beforehand how long it is.
module replicator_formal (
    input wire clk,
    input wire valid,
    input wire last,
    input wire to_group,
    input wire known,         // its size is declared
    input wire m_ready
);
    reg [2:0]  step = 3'd0;   // 0: reset; 1 … 3: tables
    wire       rst = step == 3'd0;
    wire       traffic = step == 3'd4;

    reg [3:0]  frame_in = 4'd0;
    reg        second_in = 1'b0;
    reg        group_in;      // of the frame that has begun
    wire       grouped = second_in ? group_in : to_group;
    wire [511:0] data = {506'd0, grouped, second_in, frame_in};
    wire       ready;

    wire [511:0] m_data;
    wire [63:0]  m_keep;
    wire [15:0]  m_size;
    wire [1:0]   m_port;
    wire         m_last, m_valid;

    olaf_box_replicator #(.PORTS(2), .DEPTH_BITS(4), .MAX_BYTES(128), .GROUP_BITS(1), .COPY_BITS(1)) replicator (
        .clk(clk), .rst(rst), .pause(1'b0), .port_numbers({16'd2, 16'd1}),
        .write_group(step == 3'd3), .group_index(1'b1), .group_first(1'b0), .group_count(2'd2),
        .write_copy(step == 3'd1 || step == 3'd2), .copy_index(step == 3'd2), .copy_port(step == 3'd2 ? 16'd2 : 16'd1),
        .copy_rewrite(1'b0), .copy_mac(48'd0), .copy_addr(32'd0), .copy_udp_port(16'd0),
        .s_tdata(data), .s_tkeep({64{1'b1}}), .s_tlast(last), .s_src(16'd9), .s_dst(16'd1),
        .s_group({15'd0, grouped}), .s_addressed(1'b1),
        .s_declared(!known ? 16'd0 : last ? 16'd64 : 16'd128), .s_tvalid(valid && traffic), .s_tready(ready),
        .m_tdata(m_data), .m_tkeep(m_keep), .m_tlast(m_last), .m_size(m_size), .m_port(m_port),
        .m_tvalid(m_valid), .m_tready(m_ready)
    );

    reg [3:0] frame_out = 4'd0;
    reg       second_out = 1'b0;   // the second beat of a copy is due
    reg       copy_out = 1'b0;     // the second copy of a frame is due
    wire [3:0] frame = m_data[3:0];
    wire      second = m_data[4], group = m_data[5];
    wire      copy_ends = m_valid && m_ready && m_last;

    always @(posedge clk) begin
        if (step != 3'd4) step <= step + 3'd1;
        if (second_in) assume (last);
        if (traffic && $past(traffic && valid && !ready)) begin
            assume (valid);
            assume (last == $past(last));
            assume (to_group == $past(to_group));
            assume (known == $past(known));
        end
        if (traffic && valid && ready) begin
            second_in <= !last;
            group_in <= grouped;
            if (last) frame_in <= frame_in + 4'd1;
        end

        if (traffic) begin
            if ($past(traffic && m_valid && !m_ready)) begin
                assert (m_valid);
                assert ({m_data[5:0], m_last, m_size, m_port} == $past({m_data[5:0], m_last, m_size, m_port}));
            end
            if (m_valid) begin
                assert (frame == frame_out);
                assert (second == second_out);
                assert (m_port == (copy_out ? 2'b10 : 2'b01));
                assert (m_size == (second || !m_last ? 16'd128 : 16'd64));
                if (m_ready) second_out <= !m_last;
            end
            if (copy_ends) begin
                if (group && !copy_out) copy_out <= 1'b1;
                else begin
                    copy_out <= 1'b0;
                    frame_out <= frame_out + 4'd1;
                end
            end
        end
    end
endmodule
