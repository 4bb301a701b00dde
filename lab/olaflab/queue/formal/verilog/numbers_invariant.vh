// Numbered sums, as part of formal_top, after control_invariant.vh: results have numbers without gaps, and what
// olaf_windows needs to take no contribution twice (windows_once.vh) is so.
//
// What left last and which members were taken is remembered beside the queue for every index. Both begin again after
// RESET and after SET of another mode.
    localparam MEMBER_BITS = $clog2(MEMBERS);
    (* hierconn *) wire [INDEX_WORDS*`OLAF_SETTINGS_BITS-1:0] \queue.settings_table.words_rows ;
    (* hierconn *) wire [7:0] \queue.commands.command ;
    (* hierconn *) wire [`OLAF_SETTINGS_BITS-1:0] \queue.commands.new_settings ;
    (* hierconn *) wire \queue.commands.applied , \queue.commands.forgets ;
    (* hierconn *) wire [SEQ_BITS-1:0] \queue.commands.round , \queue.commands.finished_round ;
    (* hierconn *) wire [MEMBERS-1:0] \queue.commands.members ;
    (* hierconn *) wire \queue.enqueue.committed , \queue.enqueue.numbers , \queue.enqueue.contribution.counted , \queue.enqueue.contribution.member_known ;
    (* hierconn *) wire [SEQ_BITS-1:0] \queue.enqueue.contribution.round , \queue.enqueue.contribution.finished_round , \queue.enqueue.contribution.d_finished_round ;
    (* hierconn *) wire [MEMBERS-1:0] \queue.enqueue.contribution.members , \queue.enqueue.contribution.d_others , \queue.enqueue.contribution.d_member ;
    (* hierconn *) wire [INDEX_BITS+MEMBER_BITS-1:0] \queue.enqueue.contribution.windows.at ;
    (* hierconn *) wire \queue.enqueue.contribution.windows.looked , \queue.enqueue.contribution.windows.compared ;
    (* hierconn *) wire \queue.enqueue.contribution.windows.take , \queue.enqueue.contribution.windows.taken , \queue.enqueue.contribution.windows.before_window ;

    wire [INDEX_WORDS*SEQ_BITS-1:0] row_rounds, row_finished_rounds;
    wire [INDEX_WORDS*MEMBERS-1:0] row_members;
    wire [INDEX_WORDS-1:0] row_numbered;
    generate
        for (at = 0; at < INDEX_WORDS; at = at + 1) begin : numbers_of_index
            wire [ROW_BITS-1:0] row = queue.accumulate.words_rows[at*ROW_BITS +: ROW_BITS];
            assign row_finished_rounds[at*SEQ_BITS +: SEQ_BITS] = row[SEQ_BITS-1:0];
            assign row_members[at*MEMBERS +: MEMBERS] = row[SEQ_BITS + 1 + `OLAF_OLAF_COUNT_WIDTH +: MEMBERS];
            assign row_rounds[at*SEQ_BITS +: SEQ_BITS] = row[SEQ_BITS + 1 + `OLAF_OLAF_COUNT_WIDTH + MEMBERS +: SEQ_BITS];
            assign row_numbered[at] = queue.settings_table.words_rows[`OLAF_SETTINGS_BITS*at + `OLAF_SETTINGS_MODE_LOW +: 2] == `OLAF_MODE_ISWITCH_ASYNC;
        end
    endgenerate
    function [SEQ_BITS-1:0] finished_of(input [INDEX_BITS-1:0] index);
        finished_of = row_finished_rounds[SEQ_BITS*index +: SEQ_BITS];
    endfunction
    function [SEQ_BITS-1:0] round_of(input [INDEX_BITS-1:0] index);
        round_of = row_rounds[SEQ_BITS*index +: SEQ_BITS];
    endfunction
    function [MEMBERS-1:0] members_of(input [INDEX_BITS-1:0] index);
        members_of = row_members[MEMBERS*index +: MEMBERS];
    endfunction

    wire [INDEX_BITS-1:0] commanded = queue.commands.index;
    wire takes = queue.enqueue.committed && queue.enqueue.numbers;
    wire releases_now = queue.commands.applied && queue.commands.releases && row_numbered[commanded];
    wire forgets_now = queue.commands.applied && queue.commands.forgets;
    wire [INDEX_BITS+MEMBER_BITS-1:0] window = queue.enqueue.contribution.windows.at;
    reg [INDEX_WORDS*SEQ_BITS-1:0] last_numbers;
    reg [INDEX_WORDS*MEMBERS-1:0] taken_members;
    always @(posedge aclk)
        if (queue.queue_rst) begin
            last_numbers <= 0;
            taken_members <= 0;
        end else begin
            if (takes && queue.enqueue.contribution.completes) last_numbers[SEQ_BITS*ci +: SEQ_BITS] <= queue.enqueue.contribution.round;
            if (releases_now) last_numbers[SEQ_BITS*commanded +: SEQ_BITS] <= queue.commands.round;
            if (takes) taken_members[window] <= 1'b1;
            if (forgets_now) begin
                last_numbers[SEQ_BITS*commanded +: SEQ_BITS] <= 0;
                taken_members[MEMBERS*commanded +: MEMBERS] <= 0;
            end
        end

    wire its_member_taken = taken_members >> window;
    integer n;
    always @(posedge aclk) if (!queue.queue_rst) begin
        // Results: each has the number after the one before.
        if (takes) assert(queue.enqueue.contribution.round == last_numbers[SEQ_BITS*ci +: SEQ_BITS] + 32'd1);
        if (releases_now) assert(queue.commands.round == last_numbers[SEQ_BITS*commanded +: SEQ_BITS] + 32'd1);
        // Contributions: one is taken exactly when it is settled as good. It was compared, and what is known of its member
        // is so.
        assert(queue.enqueue.contribution.windows.take == takes);
        if (takes) begin
            assert(queue.enqueue.contribution.windows.compared && !forgets_now && window[INDEX_BITS+MEMBER_BITS-1:MEMBER_BITS] == ci);
            assert(queue.enqueue.contribution.counted == its_member_taken);
            assert(!(its_member_taken && (queue.enqueue.contribution.windows.taken || queue.enqueue.contribution.windows.before_window)));
        end
        // What this rests on: the rows of the indices whose results have numbers,
        for (n = 0; n < INDICES; n = n + 1)
            if (row_numbered[n]) begin
                assert(finished_of(n) == last_numbers[SEQ_BITS*n +: SEQ_BITS]);
                assert(members_of(n) == taken_members[MEMBERS*n +: MEMBERS]);
                if (sums(n)) assert(round_of(n) == finished_of(n) + 32'd1);
            end
        // each update on its way in,
        if (in_f) begin
            assert(queue.enqueue.contribution.windows.looked && !queue.enqueue.contribution.windows.compared && window == {f_index[INDEX_BITS-1:0], queue.enqueue.f_user[`OLAF_TUSER_MEMBER_LOW +: MEMBER_BITS]});
            assert((mode(queue.enqueue.f_settings) == `OLAF_MODE_ISWITCH_ASYNC) == row_numbered[f_index[INDEX_BITS-1:0]]);
        end
        if (in_d) begin
            assert(queue.enqueue.contribution.windows.compared && window == {d_index[INDEX_BITS-1:0], queue.enqueue.d_user[`OLAF_TUSER_MEMBER_LOW +: MEMBER_BITS]});
            assert((mode(queue.enqueue.d_settings) == `OLAF_MODE_ISWITCH_ASYNC) == row_numbered[d_index[INDEX_BITS-1:0]]);
            assert(queue.enqueue.contribution.d_finished_round == finished_of(d_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.contribution.d_others == members_of(d_index[INDEX_BITS-1:0]));
            assert(queue.enqueue.contribution.member_known == (queue.enqueue.d_user[`OLAF_TUSER_MEMBER] < MEMBERS));
            assert(queue.enqueue.contribution.d_member == (queue.enqueue.contribution.member_known ? 1 << queue.enqueue.d_user[`OLAF_TUSER_MEMBER_LOW +: MEMBER_BITS] : 0));
            assert(queue.enqueue.contribution.counted == |(queue.enqueue.contribution.d_others & queue.enqueue.contribution.d_member));
        end
        if (arriving && !drops) begin
            assert(queue.enqueue.numbers == row_numbered[ci]);
            if (queue.enqueue.numbers) begin
                assert(accumulates && queue.enqueue.contribution.windows.compared);
                assert(window[INDEX_BITS+MEMBER_BITS-1:MEMBER_BITS] == ci);
                assert(queue.enqueue.contribution.round == finished_of(ci) + 32'd1 && queue.enqueue.contribution.finished_round == finished_of(ci));
                assert(queue.enqueue.contribution.members == (members_of(ci) | 1 << window[MEMBER_BITS-1:0]));
                assert(queue.enqueue.contribution.counted == (members_of(ci) >> window[MEMBER_BITS-1:0] & 1'b1));
                assert(!queue.enqueue.contribution.counted || !(queue.enqueue.contribution.windows.taken || queue.enqueue.contribution.windows.before_window));
            end
        end
        // and the command.
        if (queue.commands.state == WEIGH || queue.commands.state == ACT)
            assert(queue.commands.round == round_of(commanded) && queue.commands.finished_round == finished_of(commanded)
                   && queue.commands.members == members_of(commanded));
        if (queue.commands.state == ACT)
            assert(queue.commands.forgets == (queue.commands.command == `OLAF_COMMAND_RESET
                   || (queue.commands.command == `OLAF_COMMAND_SET
                       && queue.settings_table.words_rows[`OLAF_SETTINGS_BITS*commanded + `OLAF_SETTINGS_MODE_LOW +: 2]
                          != queue.commands.new_settings[`OLAF_SETTINGS_MODE])));
    end
