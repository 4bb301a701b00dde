// How what is known of an index may change, as part of formal_top: olaflab/queue/formal puts it before its
// `endmodule`. What came is remembered here, apart from the rows that it is compared with.
    (* hierconn *) wire [INDICES*ROW_BITS-1:0] \newest.words_rows ;

    reg        told, of_refusal, of_index;
    reg [15:0] told_version;
    always @(posedge clk) begin
        told <= !clearing && (acknowledge || refuse);
        of_refusal <= refuse;
        of_index <= refuse ? refused : acknowledged;
        told_version <= version;
    end

    genvar row;
    generate
        for (row = 0; row < INDICES; row = row + 1) begin : each
            wire        known;
            wire [15:0] held;
            wire [3:0]  doubts;
            assign {known, held, doubts} = newest.words_rows[row*ROW_BITS +: ROW_BITS];
            reg         was_clear = 1'b1, was_known, was_told, was_refusal, was_forgotten;
            reg  [15:0] was_held, was_version;
            reg  [4:0]  in_a_row, were_in_a_row;
            wire [15:0] ahead = told_version - held;
            wire [15:0] moved = was_version - was_held;
            wire        here = told && of_index == row;
            wire        here_forgotten = forget && command_index == row;
            wire        doubt = here && (of_refusal || (known && ahead[15]));

            always @(posedge clk) begin
                was_clear <= clearing;
                {was_known, was_held} <= {known, held};
                {was_told, was_refusal, was_version, was_forgotten} <= {here, of_refusal, told_version, here_forgotten};
                were_in_a_row <= in_a_row + doubt;
                in_a_row <= clearing || here_forgotten ? 5'd0 : doubt ? (in_a_row == 5'd15 ? 5'd0 : in_a_row + 5'd1)
                          : here ? 5'd0 : in_a_row;
                if (!clearing && !was_clear) begin
                    // It becomes known by an ACK, unknown by a command or sixteen doubts, the last one a refusal.
                    if (!was_known && known) assert(was_told && !was_refusal && held == was_version);
                    if (was_known && !known) assert(was_forgotten || (was_told && was_refusal && were_in_a_row == 5'd16));
                    // It moves to an ACK's version, never back but for sixteen doubts.
                    if (was_known && known && held != was_held)
                        assert(was_told && !was_refusal && held == was_version
                               && (!moved[15] || were_in_a_row == 5'd16));
                    // No doubt is forgotten, nor made up.
                    assert({1'b0, doubts} == in_a_row);
                end
            end
        end
    endgenerate
