// Numbered sums, as part of formal_top, after control_invariant.vh: results have numbers without gaps, and no
// contribution is taken twice.
//
// What left last is counted beside the queue for every index, and of one contribution, any one of any member of
// any index, whether it was taken. It may come again after RESET, after SET of another mode, and when its member
// is 2^31 numbers further: then it is a new one.
    localparam WINDOW_BITS = SEQ_BITS + 16;
    (* anyconst *) wire [INDEX_BITS-1:0] its_index;
    (* anyconst *) wire its_member;
    (* anyconst *) wire [SEQ_BITS-1:0] its_number;

    (* hierconn *) wire [INDEX_WORDS*`OLAF_SETTINGS_BITS-1:0] \queue.settings_table.words_rows ;
    (* hierconn *) wire [7:0] \queue.commands.command ;
    (* hierconn *) wire [`OLAF_SETTINGS_BITS-1:0] \queue.commands.new_settings ;
    (* hierconn *) wire \queue.commands.applied , \queue.commands.forgets , \queue.commands.finished ;
    (* hierconn *) wire [SEQ_BITS-1:0] \queue.commands.round , \queue.commands.finished_round ;
    (* hierconn *) wire [MEMBERS-1:0] \queue.commands.members ;
    (* hierconn *) wire \queue.enqueue.committed , \queue.enqueue.numbers , \queue.enqueue.d_counted , \queue.enqueue.d_member_known ;
    (* hierconn *) wire [SEQ_BITS-1:0] \queue.enqueue.round , \queue.enqueue.finished_round , \queue.enqueue.d_finished_round ;
    (* hierconn *) wire [MEMBERS-1:0] \queue.enqueue.members , \queue.enqueue.d_others , \queue.enqueue.d_member ;
    (* hierconn *) wire [INDEX_WORDS*2*WINDOW_BITS-1:0] \queue.enqueue.windows.words_rows ;
    (* hierconn *) wire [WINDOW_BITS-1:0] \queue.enqueue.windows.row ;
    (* hierconn *) wire [INDEX_BITS:0] \queue.enqueue.windows.at ;
    (* hierconn *) wire [SEQ_BITS-1:0] \queue.enqueue.windows.its_number ;
    (* hierconn *) wire [4:0] \queue.enqueue.windows.distance ;
    (* hierconn *) wire \queue.enqueue.windows.near , \queue.enqueue.windows.older ;
    (* hierconn *) wire \queue.enqueue.windows.taken , \queue.enqueue.windows.late ;

    wire [INDEX_WORDS*SEQ_BITS-1:0] row_rounds, row_finished_rounds;
    wire [INDEX_WORDS*MEMBERS-1:0] row_members;
    generate
        for (at = 0; at < INDEX_WORDS; at = at + 1) begin : numbers_of_index
            wire [ROW_BITS-1:0] row = queue.accumulate.words_rows[at*ROW_BITS +: ROW_BITS];
            assign row_finished_rounds[at*SEQ_BITS +: SEQ_BITS] = row[SEQ_BITS-1:0];
            assign row_members[at*MEMBERS +: MEMBERS] = row[SEQ_BITS + 1 + `OLAF_OLAF_COUNT_WIDTH +: MEMBERS];
            assign row_rounds[at*SEQ_BITS +: SEQ_BITS] = row[SEQ_BITS + 1 + `OLAF_OLAF_COUNT_WIDTH + MEMBERS +: SEQ_BITS];
        end
    endgenerate
    function numbered(input [INDEX_BITS-1:0] index);
        numbered = queue.settings_table.words_rows[`OLAF_SETTINGS_BITS*index + `OLAF_SETTINGS_MODE_LOW +: 2] == `OLAF_MODE_ISWITCH_ASYNC;
    endfunction
    function [SEQ_BITS-1:0] finished_of(input [INDEX_BITS-1:0] index);
        finished_of = row_finished_rounds[SEQ_BITS*index +: SEQ_BITS];
    endfunction
    function [SEQ_BITS-1:0] round_of(input [INDEX_BITS-1:0] index);
        round_of = row_rounds[SEQ_BITS*index +: SEQ_BITS];
    endfunction
    function [MEMBERS-1:0] members_of(input [INDEX_BITS-1:0] index);
        members_of = row_members[MEMBERS*index +: MEMBERS];
    endfunction

    // Beside the queue: the number that left last, and whether the one contribution was taken.
    reg [INDEX_WORDS*SEQ_BITS-1:0] last_numbers = 0;
    reg was_taken = 1'b0;
    wire [INDEX_BITS-1:0] commanded = queue.commands.index;
    wire [SEQ_BITS-1:0] after_last = last_numbers[SEQ_BITS*ci +: SEQ_BITS] + 1'b1;
    wire [SEQ_BITS-1:0] after_last_commanded = last_numbers[SEQ_BITS*commanded +: SEQ_BITS] + 1'b1;
    wire takes = queue.enqueue.committed && queue.enqueue.numbers;
    wire releases_now = queue.commands.applied && queue.commands.releases && numbered(commanded);
    wire forgets_now = queue.commands.applied && queue.commands.forgets;
    wire of_it = queue.enqueue.windows.at == {its_index, its_member};
    wire [SEQ_BITS-1:0] beyond = queue.enqueue.windows.its_number - its_number;
    // Its member has come so far ahead that it is new again.
    wire beyond_half = !queue.enqueue.windows.older && beyond[SEQ_BITS-1];
    always @(posedge aclk)
        if (queue.queue_rst) begin
            last_numbers <= 0;
            was_taken <= 1'b0;
        end else begin
            if (takes && queue.enqueue.completes) last_numbers[SEQ_BITS*ci +: SEQ_BITS] <= queue.enqueue.round;
            if (releases_now) last_numbers[SEQ_BITS*commanded +: SEQ_BITS] <= queue.commands.round;
            if (forgets_now) last_numbers[SEQ_BITS*commanded +: SEQ_BITS] <= 0;
            if (takes && of_it)
                was_taken <= queue.enqueue.windows.its_number == its_number || (was_taken && !beyond_half);
            if (forgets_now && commanded == its_index) was_taken <= 1'b0;
        end

    // The window of the one contribution's member, in memory.
    wire [WINDOW_BITS-1:0] its_window = queue.enqueue.windows.words_rows[WINDOW_BITS*{its_index, its_member} +: WINDOW_BITS];
    wire [SEQ_BITS-1:0] behind = its_window[WINDOW_BITS-1:16] - its_number;
    wire [15:0] its_bits = its_window[15:0];
    wire window_has_it = !behind[SEQ_BITS-1] && (behind == 0 || behind > 16 || its_bits[behind[3:0] - 4'd1]);

    // The looked up window, and what the comparison found.
    wire [SEQ_BITS-1:0] distance = queue.enqueue.windows.its_number - queue.enqueue.windows.row[WINDOW_BITS-1:16];
    wire near_before = &distance[SEQ_BITS-1:4];
    wire [15:0] row_bits = queue.enqueue.windows.row[15:0];

    integer n;
    always @(posedge aclk) if (!queue.queue_rst) begin
        // Results: each has the number after the one before.
        if (takes) assert(queue.enqueue.round == after_last);
        if (releases_now) assert(queue.commands.round == after_last_commanded);
        for (n = 0; n < INDICES; n = n + 1)
            if (numbered(n)) begin
                assert(finished_of(n) == last_numbers[SEQ_BITS*n +: SEQ_BITS]);
                if (sums(n)) assert(round_of(n) == finished_of(n) + 1'b1);
            end
        // Contributions: none is taken twice.
        if (takes && of_it && queue.enqueue.windows.its_number == its_number) assert(!was_taken);
        if (was_taken) assert(its_index < INDICES && members_of(its_index) >> its_member & 1'b1 && window_has_it);
        // What is on its way.
        if (in_f) begin
            assert(mode(queue.enqueue.f_settings) == `OLAF_MODE_ISWITCH_ASYNC == numbered(f_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.windows.at == {f_index[INDEX_BITS-1:0], queue.enqueue.f_user[`OLAF_TUSER_MEMBER_LOW]});
        end
        if (in_d) begin
            assert(mode(queue.enqueue.d_settings) == `OLAF_MODE_ISWITCH_ASYNC == numbered(d_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.windows.at == {d_index[INDEX_BITS-1:0], queue.enqueue.d_user[`OLAF_TUSER_MEMBER_LOW]});
            assert(queue.enqueue.d_finished_round == finished_of(d_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.d_others == members_of(d_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.d_member == (queue.enqueue.d_user[`OLAF_TUSER_MEMBER] < MEMBERS
                                              ? 2'b01 << queue.enqueue.d_user[`OLAF_TUSER_MEMBER_LOW] : 2'b00));
            assert(queue.enqueue.d_counted == |(queue.enqueue.d_others & queue.enqueue.d_member));
            assert(queue.enqueue.d_member_known == (queue.enqueue.d_user[`OLAF_TUSER_MEMBER] < MEMBERS));
        end
        if (in_f || in_d || arriving)
            assert(queue.enqueue.windows.row == queue.enqueue.windows.words_rows[WINDOW_BITS*queue.enqueue.windows.at +: WINDOW_BITS]);
        if (in_d || arriving) begin
            assert(queue.enqueue.windows.distance == distance[4:0] && queue.enqueue.windows.near == ~|distance[SEQ_BITS-1:5]);
            assert(queue.enqueue.windows.older == distance[SEQ_BITS-1]);
            assert(queue.enqueue.windows.taken == (distance == 0 || (near_before && row_bits[~distance[3:0]])));
            assert(queue.enqueue.windows.late == (distance[SEQ_BITS-1] && !near_before));
        end
        if (arriving && !drops) begin
            assert(queue.enqueue.numbers == numbered(ci));
            if (queue.enqueue.numbers) begin
                assert(accumulates);
                assert(queue.enqueue.windows.at[INDEX_BITS:1] == ci);
                assert(queue.enqueue.round == after_last && queue.enqueue.finished_round == finished_of(ci));
                assert(queue.enqueue.members == (members_of(ci) | 2'b01 << queue.enqueue.windows.at[0]));
                assert(queue.enqueue.d_counted == (members_of(ci) >> queue.enqueue.windows.at[0] & 1'b1));
                assert(!queue.enqueue.d_counted || !(queue.enqueue.windows.taken || queue.enqueue.windows.late));
            end
        end
        if (queue.commands.state == WEIGH || queue.commands.state == ACT)
            assert(queue.commands.round == round_of(commanded) && queue.commands.finished_round == finished_of(commanded)
                   && queue.commands.members == members_of(commanded));
        if (queue.commands.state == ACT)
            assert(queue.commands.forgets == (queue.commands.command == `OLAF_COMMAND_RESET
                   || (queue.commands.command == `OLAF_COMMAND_SET
                       && queue.settings_table.words_rows[`OLAF_SETTINGS_BITS*commanded + `OLAF_SETTINGS_MODE_LOW +: 2]
                          != queue.commands.new_settings[`OLAF_SETTINGS_MODE])));
    end
