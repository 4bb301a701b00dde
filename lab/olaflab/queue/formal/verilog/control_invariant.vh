// What the control of OlafQueue keeps to in every cycle, as part of formal_top: olaflab/queue/formal puts it
// before its `endmodule`. Induction shows that it follows from itself, and the queue's own checks from it.
//
// The slot's life is the one that olaf_queue_checks follows: free, waiting, leaving, accumulating. All
// else is compared with that: the two lists, the tables, and what every update on its way in carries.
//
// A register of the queue is named by its path; words_x are the words of the memory x, one after the other.
    localparam INDEX_BITS = $clog2(INDICES), SLOT_BITS = $clog2(SLOTS), BUFFER_BITS = $clog2(SLOTS + 1);
    localparam BEAT_BITS = $clog2(BEATS), ADDR_BITS = $clog2((SLOTS + 1) * BEATS);
    localparam SLOT_WORDS = 1 << SLOT_BITS, INDEX_WORDS = 1 << INDEX_BITS;
    localparam [SLOT_BITS:0] ALL_SLOTS = SLOTS;
    localparam PLACE_BITS = BUFFER_BITS + ADDR_BITS;
    localparam SEQ_BITS = `OLAF_OLAF_SEQ_WIDTH;
    localparam ROW_BITS = 1 + SLOT_BITS + SEQ_BITS + MEMBERS + `OLAF_OLAF_COUNT_WIDTH + 1 + SEQ_BITS;
    localparam [1:0] FREE = 2'd0, WAITING = 2'd1, LEAVING = 2'd2, SUMMING = 2'd3;
    localparam [2:0] UPDATE = 3'd1, JUDGE = 3'd3, FILL = 3'd4, SWALLOW = 3'd5;
    localparam [2:0] IDLE = 3'd0, PAUSE = 3'd1, WEIGH = 3'd2, ACT = 3'd3, GAP = 3'd4;

    (* hierconn *) wire \queue.queue_rst , \queue.clearing ;
    (* hierconn *) wire [15:0] \queue.clearing_step ;
    (* hierconn *) wire [ADDR_BITS-1:0] \queue.slots.clearing_address ;
    (* hierconn *) wire [SLOTS*2-1:0] \queue.checks.words_state ;
    (* hierconn *) wire [SLOTS-1:0] \queue.checks.words_known ;
    (* hierconn *) wire [SLOTS*16-1:0] \queue.checks.words_of ;
    (* hierconn *) wire [SLOTS*BUFFER_BITS-1:0] \queue.checks.words_owns ;
    (* hierconn *) wire [BUFFER_BITS-1:0] \queue.checks.spare ;
    (* hierconn *) wire [SLOT_WORDS*SLOT_BITS-1:0] \queue.free_list.words_available_mem_addrs ;
    (* hierconn *) wire [SLOT_BITS-1:0] \queue.free_list.write_ptr , \queue.free_list.append_available_addr ;
    (* hierconn *) wire [SLOT_BITS:0] \queue.free_list.used ;
    (* hierconn *) wire [SLOT_WORDS*SLOT_BITS-1:0] \queue.out_list.words_out_mem_addrs ;
    (* hierconn *) wire [SLOT_BITS-1:0] \queue.out_list.head , \queue.out_list.tail , \queue.out_list.first ;
    (* hierconn *) wire [SLOT_BITS:0] \queue.out_list.count ;
    (* hierconn *) wire \queue.out_list.waiting ;
    (* hierconn *) wire [SLOT_WORDS*PLACE_BITS-1:0] \queue.slots.words_buffers ;
    (* hierconn *) wire [SLOT_WORDS*`OLAF_META_BITS-1:0] \queue.slots.words_metas ;
    (* hierconn *) wire [INDEX_WORDS*2-1:0] \queue.index_table.words_cluster_head , \queue.index_table.words_cluster_tail ;
    (* hierconn *) wire [INDEX_WORDS*SLOT_BITS-1:0] \queue.index_table.words_cluster_status0 ,
        \queue.index_table.words_cluster_status1 , \queue.index_table.words_cluster_status2 ;
    (* hierconn *) wire [INDEX_WORDS*ROW_BITS-1:0] \queue.accumulate.words_rows ;

    (* hierconn *) wire \queue.issue , \queue.bypass_issue , \queue.output_free , \queue.bypass.mid_frame ;
    (* hierconn *) wire \queue.dequeue.busy ;
    (* hierconn *) wire [SLOT_BITS-1:0] \queue.dequeue.slot ;
    (* hierconn *) wire [`OLAF_META_BITS-1:0] \queue.dequeue.meta ;

    (* hierconn *) wire \queue.enqueue.f_valid , \queue.enqueue.f_first , \queue.enqueue.d_valid , \queue.enqueue.d_first ;
    (* hierconn *) wire \queue.enqueue.f_present , \queue.enqueue.lock.f_locked , \queue.enqueue.d_present , \queue.enqueue.lock.d_locked ;
    (* hierconn *) wire \queue.enqueue.contribution.accumulates , \queue.enqueue.arriving , \queue.enqueue.leaving ;
    (* hierconn *) wire [`OLAF_TUSER_OCCUPANCY_LOW-1:0] \queue.enqueue.f_user , \queue.enqueue.d_user ;
    (* hierconn *) wire [`OLAF_FAULT_BITS-1:0] \queue.enqueue.f_fault , \queue.enqueue.d_fault , \queue.enqueue.fault ;
    (* hierconn *) wire [SLOT_BITS-1:0] \queue.enqueue.f_slot , \queue.enqueue.d_slot , \queue.enqueue.at_slot ;
    (* hierconn *) wire [`OLAF_SETTINGS_BITS-1:0] \queue.enqueue.f_settings , \queue.enqueue.d_settings ;
    (* hierconn *) wire [ROW_BITS-1:0] \queue.enqueue.contribution.f_row ;
    (* hierconn *) wire [PLACE_BITS-1:0] \queue.enqueue.spare , \queue.enqueue.freed_buffer , \queue.enqueue.buffer ;
    (* hierconn *) wire [`OLAF_DISPOSITION_BITS-1:0] \queue.enqueue.disposition ;
    (* hierconn *) wire \queue.enqueue.tracked , \queue.enqueue.merged.old_headers , \queue.enqueue.accumulates , \queue.enqueue.contribution.completes ;
    (* hierconn *) wire [INDEX_BITS-1:0] \queue.enqueue.commit_index ;
    (* hierconn *) wire [`OLAF_META_BITS-1:0] \queue.enqueue.meta ;

    (* hierconn *) wire [2:0] \queue.ingress.state ;
    (* hierconn *) wire \queue.ingress.more , \queue.ingress.fill ;
    (* hierconn *) wire [`OLAF_END_BITS-1:0] \queue.ingress.verdict ;

    (* hierconn *) wire [2:0] \queue.commands.state ;
    (* hierconn *) wire \queue.commands.pause , \queue.commands.accumulates ;
    (* hierconn *) wire \queue.commands.releases , \queue.commands.discards ;
    (* hierconn *) wire [INDEX_BITS-1:0] \queue.commands.index ;
    (* hierconn *) wire [SLOT_BITS-1:0] \queue.commands.slot ;

    // Short names of what is compared everywhere.
    wire arriving = queue.enqueue.arriving, leaving = queue.enqueue.leaving, busy = queue.dequeue.busy;
    wire [`OLAF_DISPOSITION_BITS-1:0] disposition = queue.enqueue.disposition;
    wire drops = disposition[`OLAF_IS_DROP], appends = disposition == `OLAF_APPEND;
    wire accumulates = queue.enqueue.accumulates, tracked = queue.enqueue.tracked;
    wire [SLOT_BITS-1:0] at_slot = queue.enqueue.at_slot;
    wire [INDEX_BITS-1:0] ci = queue.enqueue.commit_index;
    wire [15:0] arriving_index = queue.enqueue.meta[`OLAF_META_INDEX];
    wire in_f = queue.enqueue.f_valid && queue.enqueue.f_first;
    wire in_d = queue.enqueue.d_valid && queue.enqueue.d_first;
    wire [15:0] f_index = queue.enqueue.f_user[`OLAF_TUSER_INDEX], d_index = queue.enqueue.d_user[`OLAF_TUSER_INDEX];
    wire [2:0] ingress = queue.ingress.state;
    // It leaves before its end, and its slot is not counted as taken yet.
    wire ahead = arriving && leaving && appends;

    // What is looked at of wide words, of every slot or index.
    wire [SLOTS-1:0] meta_tracked;
    wire [SLOTS*16-1:0] meta_index, meta_sizes;
    wire [INDEX_WORDS-1:0] row_sums, row_is_of_f;
    wire [INDEX_WORDS*SLOT_BITS-1:0] row_slots;
    genvar at;
    generate
        for (at = 0; at < SLOTS; at = at + 1) begin : of_slot
            wire [`OLAF_META_BITS-1:0] meta = queue.slots.words_metas[at*`OLAF_META_BITS +: `OLAF_META_BITS];
            assign meta_tracked[at] = meta[`OLAF_META_TRACKED];
            assign meta_index[at*16 +: 16] = meta[`OLAF_META_INDEX];
            assign meta_sizes[at*16 +: 16] = meta[`OLAF_META_SIZE];
        end
        for (at = 0; at < INDEX_WORDS; at = at + 1) begin : of_index
            wire [ROW_BITS-1:0] row = queue.accumulate.words_rows[at*ROW_BITS +: ROW_BITS];
            assign row_sums[at] = row[ROW_BITS-1];
            assign row_slots[at*SLOT_BITS +: SLOT_BITS] = row[ROW_BITS-2 -: SLOT_BITS];
            assign row_is_of_f[at] = row == queue.enqueue.contribution.f_row;
        end
    endgenerate

    function [1:0] state(input [SLOT_BITS-1:0] slot);
        state = queue.checks.words_state[2*slot +: 2];
    endfunction
    function known(input [SLOT_BITS-1:0] slot);
        known = queue.checks.words_known[slot];
    endfunction
    function [15:0] of(input [SLOT_BITS-1:0] slot);
        of = queue.checks.words_of[16*slot +: 16];
    endfunction
    function [SLOT_BITS-1:0] after(input [SLOT_BITS-1:0] from, input [SLOT_BITS:0] steps);
        after = {1'b0, from} + steps >= ALL_SLOTS ? from + steps - ALL_SLOTS : from + steps;
    endfunction
    function [SLOT_BITS-1:0] available(input [SLOT_BITS:0] place);
        available = queue.free_list.words_available_mem_addrs >> SLOT_BITS * (queue.free_list.write_ptr + place < SLOTS ? queue.free_list.write_ptr + place : queue.free_list.write_ptr + place - SLOTS);
    endfunction
    function [SLOT_BITS-1:0] listed(input [SLOT_BITS:0] place);
        listed = queue.out_list.words_out_mem_addrs >> SLOT_BITS * (queue.out_list.head + place < SLOTS ? queue.out_list.head + place : queue.out_list.head + place - SLOTS);
    endfunction
    function [PLACE_BITS-1:0] place_of(input [SLOT_BITS-1:0] slot);
        place_of = queue.slots.words_buffers[PLACE_BITS*slot +: PLACE_BITS];
    endfunction
    function [1:0] head(input [INDEX_BITS-1:0] index);
        head = queue.index_table.words_cluster_head[2*index +: 2];
    endfunction
    function [1:0] tail(input [INDEX_BITS-1:0] index);
        tail = queue.index_table.words_cluster_tail[2*index +: 2];
    endfunction
    function [1:0] updates(input [INDEX_BITS-1:0] index);
        updates = queue.index_table.words_cluster_tail[2*index +: 2] >= queue.index_table.words_cluster_head[2*index +: 2]
                ? queue.index_table.words_cluster_tail[2*index +: 2] - queue.index_table.words_cluster_head[2*index +: 2]
                : queue.index_table.words_cluster_tail[2*index +: 2] + 2'd3 - queue.index_table.words_cluster_head[2*index +: 2];
    endfunction
    function [SLOT_BITS-1:0] newest(input [INDEX_BITS-1:0] index);
        newest = queue.index_table.words_cluster_tail[2*index +: 2] == 2'd1 ? queue.index_table.words_cluster_status0[SLOT_BITS*index +: SLOT_BITS]
               : queue.index_table.words_cluster_tail[2*index +: 2] == 2'd2 ? queue.index_table.words_cluster_status1[SLOT_BITS*index +: SLOT_BITS]
               :                       queue.index_table.words_cluster_status2[SLOT_BITS*index +: SLOT_BITS];
    endfunction
    function [SLOT_BITS-1:0] oldest(input [INDEX_BITS-1:0] index);
        oldest = queue.index_table.words_cluster_head[2*index +: 2] == 2'd0 ? queue.index_table.words_cluster_status0[SLOT_BITS*index +: SLOT_BITS]
               : queue.index_table.words_cluster_head[2*index +: 2] == 2'd1 ? queue.index_table.words_cluster_status1[SLOT_BITS*index +: SLOT_BITS]
               :                       queue.index_table.words_cluster_status2[SLOT_BITS*index +: SLOT_BITS];
    endfunction
    function sums(input [INDEX_BITS-1:0] index);
        sums = row_sums[index];
    endfunction
    function [SLOT_BITS-1:0] sum_slot(input [INDEX_BITS-1:0] index);
        sum_slot = row_slots[SLOT_BITS*index +: SLOT_BITS];
    endfunction
    function [`OLAF_SETTINGS_MODE_WIDTH-1:0] mode(input [`OLAF_SETTINGS_BITS-1:0] settings);
        mode = settings[`OLAF_SETTINGS_MODE];
    endfunction
    function summed(input [`OLAF_SETTINGS_MODE_WIDTH-1:0] its_mode);
        summed = its_mode == `OLAF_MODE_ISWITCH || its_mode == `OLAF_MODE_ISWITCH_ASYNC;
    endfunction
    // An update of this index waits and may be merged with.
    function unlocked(input [INDEX_BITS-1:0] index);
        integer each;
        begin
            unlocked = 1'b0;
            for (each = 0; each < SLOTS; each = each + 1)
                if (state(each) == WAITING && known(each) && of(each) == index) unlocked = 1'b1;
        end
    endfunction
    // What was looked up for an update under way still holds.
    function looked_up(input [INDEX_BITS-1:0] index, input [`OLAF_SETTINGS_MODE_WIDTH-1:0] its_mode, input [SLOT_BITS-1:0] slot,
                       input present, input locked);
        looked_up = summed(its_mode) ? slot == sum_slot(index)
                : (slot == newest(index) && (present || updates(index) == 2'd0)
                  && (!present || (locked ? !unlocked(index)
                                          : state(slot) == WAITING && known(slot) && of(slot) == index)));
    endfunction
    // An update whose index does not exist comes no further than its end.
    function foreign(input [15:0] index, input [`OLAF_FAULT_BITS-1:0] fault);
        foreign = fault == `OLAF_FAULT_NONE && index >= INDICES;
    endfunction
    wire doomed = ingress == JUDGE && queue.ingress.verdict == `OLAF_END_TRUNCATED && !leaving;

    reg [SLOT_BITS:0] free_slots, waiting_slots, leaving_slots, summing_slots;
    reg [INDEX_BITS:0] rounds;
    reg [1:0] tracked_updates;
    reg lists, buffers, metas, tables, sums_held;
    integer s, t, i;
    always @* begin
        free_slots = 0;
        waiting_slots = 0;
        leaving_slots = 0;
        summing_slots = 0;
        rounds = 0;
        lists = 1'b1;
        buffers = queue.checks.spare <= SLOTS && queue.enqueue.spare == {queue.checks.spare, place_at(queue.checks.spare)};
        metas = 1'b1;
        tables = 1'b1;
        sums_held = 1'b1;
        for (s = 0; s < SLOTS; s = s + 1) begin
            free_slots = free_slots + (state(s) == FREE);
            waiting_slots = waiting_slots + (state(s) == WAITING);
            leaving_slots = leaving_slots + (state(s) == LEAVING);
            summing_slots = summing_slots + (state(s) == SUMMING);
            if (s < SLOTS - queue.free_list.used && state(available(s)) != FREE) lists = 1'b0;
            if (s < queue.out_list.count && state(listed(s)) != WAITING) lists = 1'b0;
            for (t = 0; t < s; t = t + 1) begin
                if (s < SLOTS - queue.free_list.used && available(s) == available(t)) lists = 1'b0;
                if (s < queue.out_list.count && listed(s) == listed(t)) lists = 1'b0;
                if (owned(s) == owned(t)) buffers = 1'b0;
            end
            if (owned(s) > SLOTS || owned(s) == queue.checks.spare || place_of(s) != {owned(s), place_at(owned(s))})
                buffers = 1'b0;
            if ((state(s) == WAITING || state(s) == SUMMING)
                && meta_tracked[s] != known(s)) metas = 1'b0;
            if (state(s) == WAITING && known(s) && meta_index[16*s +: 16] != of(s)) metas = 1'b0;
            if (state(s) == SUMMING && known(s)) metas = 1'b0;
            if (state(s) != FREE && known(s) && of(s) >= INDICES) metas = 1'b0;
        end
        for (i = 0; i < INDICES; i = i + 1) begin
            tracked_updates = 2'd0;
            for (s = 0; s < SLOTS; s = s + 1) tracked_updates = tracked_updates + (state(s) != FREE && known(s) && of(s) == i);
            if (head(i) == 2'd3 || tail(i) == 2'd3 || updates(i) != tracked_updates) tables = 1'b0;
            if (tracked_updates != 2'd0
                && !((state(newest(i)) == WAITING || (tracked_updates == 2'd1 && state(newest(i)) == LEAVING))
                     && known(newest(i)) && of(newest(i)) == i)) tables = 1'b0;
            if (tracked_updates == 2'd2 && !(state(oldest(i)) == LEAVING && known(oldest(i)) && of(oldest(i)) == i))
                tables = 1'b0;
            rounds = rounds + sums(i);
            if (sums(i) && state(sum_slot(i)) != SUMMING) sums_held = 1'b0;
            for (t = 0; t < i; t = t + 1)
                if (sums(i) && sums(t) && sum_slot(i) == sum_slot(t)) sums_held = 1'b0;
        end
    end
    function [BUFFER_BITS-1:0] owned(input [SLOT_BITS-1:0] slot);
        owned = queue.checks.words_owns[BUFFER_BITS*slot +: BUFFER_BITS];
    endfunction
    function [ADDR_BITS-1:0] place_at(input [BUFFER_BITS-1:0] buffer);
        place_at = buffer * BEATS;
    endfunction

    // While the tables are cleared, step by step.
    always @(posedge aclk) if (aresetn && queue.clearing)
        assert(queue.clearing_step < (INDICES > SLOTS ? INDICES : SLOTS) && queue.slots.clearing_address == queue.clearing_step * BEATS);

    // A command that comes meanwhile waits until they are clear.
    always @(posedge aclk) if (aresetn) begin
        if (queue.queue_rst) assert(queue.commands.state <= PAUSE && queue.commands.pause == (queue.commands.state == PAUSE));
    end

    always @(posedge aclk) if (!queue.queue_rst) begin
        // The lists and the slots.
        assert(queue.free_list.used <= SLOTS && queue.free_list.write_ptr < SLOTS
               && queue.free_list.append_available_addr == after(queue.free_list.write_ptr, SLOTS - queue.free_list.used));
        assert(queue.out_list.count <= SLOTS && queue.out_list.head < SLOTS
               && queue.out_list.tail == after(queue.out_list.head, queue.out_list.count));
        assert(queue.out_list.waiting == (queue.out_list.count != 0));
        assert(!queue.out_list.waiting || queue.out_list.first == listed(0));
        assert(free_slots + queue.free_list.used == SLOTS);
        assert(waiting_slots == queue.out_list.count);
        assert(lists);
        assert(buffers);
        assert(metas);
        assert(tables);
        // Rounds.
        assert(sums_held);
        assert(rounds == summing_slots);
        // What leaves.
        assert(leaving_slots == (busy && !ahead));
        assert(!busy || ahead || state(queue.dequeue.slot) == LEAVING);
        assert(!(arriving && leaving) || (busy && queue.dequeue.slot == at_slot && !drops && !accumulates));
        assert(!busy || ahead || (queue.dequeue.meta[`OLAF_META_TRACKED] == known(queue.dequeue.slot)
               && (!known(queue.dequeue.slot) || queue.dequeue.meta[`OLAF_META_INDEX] == of(queue.dequeue.slot))));
        assert(!ahead || (queue.dequeue.meta[`OLAF_META_TRACKED] == tracked
               && queue.dequeue.meta[`OLAF_META_INDEX] == arriving_index && queue.out_list.count == 0));
        // What the output stage relies on: one beat a cycle, only while it is free.
        assert(!(busy && queue.bypass.mid_frame));
        assert(!(queue.issue && queue.bypass_issue) && (queue.output_free || !(queue.issue || queue.bypass_issue)));
        // The arriving update.
        if (arriving) begin
            assert(disposition <= `OLAF_SUPERSEDE || (disposition >= `OLAF_DROP_FULL && disposition <= `OLAF_DROP_STALE));
            assert((queue.enqueue.fault == `OLAF_FAULT_NONE) == (disposition != `OLAF_DROP_FAULT)
                   && queue.enqueue.fault <= `OLAF_FAULT_INDEX);
            assert(ci == arriving_index[INDEX_BITS-1:0]);
            assert(queue.enqueue.meta[`OLAF_META_TRACKED] == tracked && !(tracked && accumulates));
            assert(!queue.enqueue.contribution.completes || accumulates);
            assert(!foreign(arriving_index, queue.enqueue.fault) || doomed);
            if (appends) begin
                assert(queue.free_list.used < SLOTS && at_slot == available(0));
                assert(!tracked || !unlocked(ci));
                assert(!accumulates || !sums(ci));
                assert(!queue.enqueue.merged.old_headers);
            end else if (!drops && !accumulates) begin
                assert(tracked && known(at_slot) && of(at_slot) == ci);
                assert(state(at_slot) == (leaving ? LEAVING : WAITING));
                assert(disposition != `OLAF_SUPERSEDE);
            end else if (!drops) begin
                assert(sums(ci) && sum_slot(ci) == at_slot);
                assert(disposition == `OLAF_MERGE || disposition == `OLAF_SUPERSEDE);
            end
            if (!drops) assert(queue.enqueue.buffer == queue.enqueue.spare && queue.enqueue.freed_buffer == place_of(at_slot));
        end
        // Updates that come to be decided.
        if (in_f) begin
            assert(row_is_of_f[f_index[INDEX_BITS-1:0]]);
            assert(looked_up(f_index[INDEX_BITS-1:0], mode(queue.enqueue.f_settings), queue.enqueue.f_slot,
                             queue.enqueue.f_present, queue.enqueue.lock.f_locked));
            assert(queue.enqueue.f_fault <= `OLAF_FAULT_INDEX);
            assert(!foreign(f_index, queue.enqueue.f_fault)
                   || (ingress == JUDGE && queue.ingress.verdict == `OLAF_END_TRUNCATED));
        end
        if (in_d) begin
            assert(queue.enqueue.contribution.accumulates == sums(d_index[INDEX_BITS-1:0]));
            assert(looked_up(d_index[INDEX_BITS-1:0], mode(queue.enqueue.d_settings), queue.enqueue.d_slot,
                             queue.enqueue.d_present, queue.enqueue.lock.d_locked));
            assert(queue.enqueue.d_fault <= `OLAF_FAULT_INDEX);
            assert(!foreign(d_index, queue.enqueue.d_fault)
                   || (ingress == JUDGE && queue.ingress.verdict == `OLAF_END_TRUNCATED));
        end
        assert({1'b0, in_f} + {1'b0, in_d} + {1'b0, arriving}
               == (ingress == UPDATE || ingress == JUDGE || ingress == FILL));
        // Ingress.
        assert(ingress <= SWALLOW);
        if (ingress == JUDGE) assert(queue.ingress.verdict <= `OLAF_END_OVERLONG);
        if (ingress == JUDGE && queue.ingress.fill && queue.ingress.more && arriving) assert(!leaving);
        if (ingress == FILL) assert(arriving && leaving);
        // Commands.
        assert(queue.commands.state <= GAP);
        assert(queue.commands.pause == (queue.commands.state == PAUSE || queue.commands.state == WEIGH || queue.commands.state == ACT));
        if (queue.commands.state == WEIGH || queue.commands.state == ACT) begin
            assert(!queue.enqueue.f_valid && !queue.enqueue.d_valid && !arriving);
            assert(queue.commands.accumulates == sums(queue.commands.index)
                   && queue.commands.slot == sum_slot(queue.commands.index));
        end
        if (queue.commands.state == ACT)
            assert(!(queue.commands.releases && queue.commands.discards)
                   && (queue.commands.accumulates || !(queue.commands.releases || queue.commands.discards)));
    end
