// How what is known of an index may change, as part of formal_top: olaflab/queue/formal puts it before its
// `endmodule`. What came is remembered here, apart from the rows that it is compared with.
    (* hierconn *) wire [INDICES*ROW_BITS-1:0] \newest.words_rows ;

    reg        came, of_update, of_stale, of_index;
    reg [15:0] acknowledged_version;
    always @(posedge clk) begin
        came <= !clearing && (acknowledge || judge);
        of_update <= judge;
        of_stale <= stale;
        of_index <= judge ? judged : acknowledged;
        acknowledged_version <= version;
    end

    genvar row;
    generate
        for (row = 0; row < INDICES; row = row + 1) begin : each
            wire        known;
            wire [15:0] held;
            wire [3:0]  older_acks, stale_updates;
            assign {known, held, older_acks, stale_updates} = newest.words_rows[row*ROW_BITS +: ROW_BITS];
            wire [15:0] ahead = acknowledged_version - held;
            wire        here_forgotten = forget && command_index == row;
            wire        ack = came && of_index == row && !of_update;
            wire        older_ack = ack && known && ahead[15];
            wire        update = came && of_index == row && of_update;

            // Events in a row since the last that ends the row, a sixteenth included.
            reg  [4:0]  acks_in_a_row, updates_in_a_row;
            reg         was_clear = 1'b1, was_known, was_forgotten, was_ack, was_update;
            reg  [15:0] was_held, was_version;
            wire [15:0] moved = was_version - was_held;
            wire [4:0]  acks_now = acks_in_a_row == 5'd16 ? 5'd0 : acks_in_a_row;
            wire [4:0]  updates_now = updates_in_a_row == 5'd16 ? 5'd0 : updates_in_a_row;

            always @(posedge clk) begin
                was_clear <= clearing;
                {was_known, was_held} <= {known, held};
                {was_forgotten, was_ack, was_update, was_version} <= {here_forgotten, ack, update, acknowledged_version};
                acks_in_a_row <= clearing || here_forgotten || (ack && !older_ack) || updates_in_a_row == 5'd16 ? 5'd0
                               : acks_now + older_ack;
                updates_in_a_row <= clearing || here_forgotten || ack || (update && !of_stale) ? 5'd0
                                  : updates_now + update;
                if (!clearing && !was_clear) begin
                    // It becomes known by an ACK, unknown by a command or sixteen stale updates in a row.
                    if (!was_known && known) assert(was_ack && held == was_version);
                    if (was_known && !known) assert(was_forgotten || (was_update && updates_in_a_row == 5'd16));
                    // It moves to an ACK's version, never back but by sixteen older ACKs in a row.
                    if (was_known && known && held != was_held)
                        assert(was_ack && held == was_version && (!moved[15] || acks_in_a_row == 5'd16));
                    // Sixteen in a row have their effect.
                    if (updates_in_a_row == 5'd16) assert(!known);
                    if (acks_in_a_row == 5'd16 && was_ack) assert(known && held == was_version);
                    // No event is left out, nor made up.
                    assert({1'b0, older_acks} == (updates_in_a_row == 5'd16 ? 5'd0 : acks_now));
                    assert({1'b0, stale_updates} == updates_now);
                end
            end
        end
    endgenerate
