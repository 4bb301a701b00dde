// Conservation of updates, as part of olaf_output: olaflab/queue/formal puts it before its `endmodule`.
//
// Every update whose last beat was issued is sent once. The other assertions make that inductive: an
// update that was issued and not sent has its last beat in a stage, in the FIFO or on the wire.
    reg [4:0] pending = 5'd0;
    always @(posedge clk)
        if (!rst) pending <= pending + {4'd0, update_issue && update_last} - {4'd0, sent_update};
    wire [DEPTH_BITS-1:0] span = put - get;
    reg [4:0] inside;
    reg [DEPTH_BITS-1:0] at;
    integer each;
    always @* begin
        inside = {4'd0, l_valid && l_update && l_last} + {4'd0, r_valid && r_update && r_last}
                      + {4'd0, m_tvalid && m_tlast && wire_update};
        for (each = 0; each < 8; each = each + 1) begin
            at = get + each[DEPTH_BITS-1:0];
            if (each < held && marks[at][0] && marks[at][2]) inside = inside + 5'd1;
        end
    end
    always @(posedge clk) if (!rst) begin
        assert(pending == inside);
        assert(held <= DEPTH && held[DEPTH_BITS-1:0] == span);
        assert(under_way == held + {{DEPTH_BITS{1'b0}}, l_valid} + {{DEPTH_BITS{1'b0}}, r_valid});
        assert(under_way <= DEPTH && (!free || under_way < DEPTH));
        assert(!(sent_update && pending == 5'd0));
        assert(!(idle && pending != 5'd0));
        assert(pending <= 5'd9);
    end
