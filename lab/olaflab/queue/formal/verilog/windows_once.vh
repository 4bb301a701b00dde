// No contribution is taken twice, and none within the window is refused that was not taken, as part of olaf_windows:
// olaflab/queue/formal puts it before its `endmodule`.
//
// Of one contribution, any one of any member of any index, it is remembered beside the rows whether it was taken. It
// is a new one after a command that lets its index begin again, and where its member is 2^31 numbers further.
    localparam ROWS = 1 << ADDR_BITS;
    (* anyseq *) wire [ADDR_BITS+NUMBER_BITS-1:0] any_contribution;
    (* anyseq *) wire [ROWS-1:0] forget;   // by members; a command lets all those of an index begin again
    reg                   chosen = 1'b0, was_taken = 1'b0;
    reg [ADDR_BITS-1:0]   one_member;
    reg [NUMBER_BITS-1:0] one_number;
    reg [ROWS-1:0]        known_members = {ROWS{1'b0}};

    // An update is looked up, compared and taken or not before the next one is, it is known of whose members something
    // was taken, and a command waits until no update is under way: `control` has these as checks of olaf_windows and
    // in its invariant.
    always @* assume(!take || (!look && compared && ~|forget && known == known_members[at] && !(known && (taken || before_window))));

    wire of_it = at == one_member && compared_number == one_number;
    wire [NUMBER_BITS-1:0] further = compared_number - one_number;
    always @(posedge clk) begin
        chosen <= 1'b1;
        if (!chosen) {one_member, one_number} <= any_contribution;
        known_members <= known_members & ~forget;
        if (take) known_members[at] <= 1'b1;
        if (take && of_it) was_taken <= 1'b1;
        else if (take && at == one_member && !older && further[NUMBER_BITS-1]) was_taken <= 1'b0;
        if (forget[one_member]) was_taken <= 1'b0;
    end

    // How far behind a row's highest number one is, and whether the row has it as taken.
    function [NUMBER_BITS-1:0] behind(input [ROW_BITS-1:0] of, input [NUMBER_BITS-1:0] one);
        behind = of[ROW_BITS-1:WIDTH] - one;
    endfunction
    function has(input [ROW_BITS-1:0] of, input [NUMBER_BITS-1:0] one);
        reg [WIDTH:0] bits;
        begin
            bits = {of[WIDTH-1:0], 1'b1} >> behind(of, one);
            has = bits[0];
        end
    endfunction
    wire [ROW_BITS-1:0]    one_row = rows[one_member];
    wire [NUMBER_BITS-1:0] one_behind = behind(one_row, one_number), compared_behind = behind(row, compared_number);
    wire                   is_older = compared_behind != 0 && compared_behind <= {1'b1, {(NUMBER_BITS - 1){1'b0}}};

    always @(posedge clk) begin
        if (take && of_it) assert(!was_taken);
        if (compared && of_it && known_members[at])
            if (is_older && compared_behind > WIDTH) assert(before_window && !taken);
            else assert(!before_window && taken == was_taken);
        assert(chosen);
        // What this rests on: the row of the one contribution's member,
        if (was_taken) assert(known_members[one_member] && !one_behind[NUMBER_BITS-1]);
        if (known_members[one_member] && one_behind <= WIDTH) assert(has(one_row, one_number) == was_taken);
        // and the update that is under way.
        if (looked) assert(row == rows[at]);
        if (compared) begin
            assert(looked);
            assert(older == is_older);
            assert(near == (compared_behind == 0 || ~compared_behind < 31));
            assert(distance == 5'd0 - compared_behind[4:0]);
            assert(taken == (compared_behind <= WIDTH && has(row, compared_number)));
            assert(before_window == (is_older && compared_behind > WIDTH));
        end
    end
