// No update departs before its end has arrived, as part of formal_top, after control_invariant.vh.
//
// What may be read of a buffer is what was written of it (olaf_filled). The arriving update has a number, its
// beats carry it, and no beat of an older update with the same number is still on its way: of its beats
// no more are readable than have left the merge pipeline's issue, and the last one is not among them.
    localparam STAGES = ADDER_LATENCY + 2, TAG_BITS = 2 + BEAT_BITS + ADDR_BITS;

    (* hierconn *) wire [9:0] \queue.ingress.index , \queue.ingress.last_index ;
    (* hierconn *) wire \queue.enqueue.merged.keep_pending ;
    (* hierconn *) wire \queue.enqueue.merged.same_size ;
    (* hierconn *) wire [SLOT_WORDS*`OLAF_KEPT_BITS-1:0] \queue.enqueue.merged.words_kept ;
    (* hierconn *) wire \queue.merge.i_valid , \queue.merge.i_first , \queue.merge.waits , \queue.merge.open ;
    (* hierconn *) wire [BEAT_BITS-1:0] \queue.merge.i_beat ;
    (* hierconn *) wire [1:0] \queue.merge.number ;
    (* hierconn *) wire [STAGES-1:0] \queue.merge.flying ;
    (* hierconn *) wire [STAGES*TAG_BITS-1:0] \queue.merge.tag ;
    (* hierconn *) wire [3:0] \queue.filled.known ;
    (* hierconn *) wire [4*BUFFER_BITS-1:0] \queue.filled.buffers ;
    (* hierconn *) wire [4*(BEAT_BITS+1)-1:0] \queue.filled.beats ;
    (* hierconn *) wire [BEAT_BITS:0] \queue.filled.readable ;
    (* hierconn *) wire [BUFFER_BITS-1:0] \queue.dequeue.buffer ;
    (* hierconn *) wire [BEAT_BITS-1:0] \queue.dequeue.last_beat ;

    // Cycles since the last update got its number; 15 for more. Between two numbers are three cycles at least.
    reg [3:0] since = 4'd15;
    always @(posedge aclk)
        if (queue.queue_rst) since <= 4'd15;
        else if (queue.merge.open && !queue.merge.waits) since <= 4'd0;
        else if (since != 4'd15) since <= since + 4'd1;

    function [15:0] beats_of(input [15:0] size);
        beats_of = ((size - 16'd1) & 16'hffff) >> 6;
    endfunction
    wire [SLOTS*16-1:0] kept_sizes;
    generate
        for (at = 0; at < SLOTS; at = at + 1) begin : of_kept
            wire [`OLAF_KEPT_BITS-1:0] kept = queue.enqueue.merged.words_kept[at*`OLAF_KEPT_BITS +: `OLAF_KEPT_BITS];
            assign kept_sizes[at*16 +: 16] = kept[`OLAF_KEPT_SIZE];
        end
    endgenerate
    function [15:0] meta_size(input [SLOT_BITS-1:0] slot);
        meta_size = meta_sizes[16*slot +: 16];
    endfunction

    // Of the arriving update: beats that the merge pipeline has taken, and those that left its issue.
    wire [9:0] issued = queue.ingress.index - {9'd0, queue.enqueue.f_valid} - {9'd0, queue.enqueue.d_valid};
    wire [9:0] gone = issued - {9'd0, queue.merge.i_valid};
    wire at_issue = queue.merge.i_valid && queue.merge.i_first;
    wire [1:0] number = at_issue ? queue.merge.number + 2'd1 : queue.merge.number;
    wire [BUFFER_BITS-1:0] own_buffer = queue.enqueue.buffer[ADDR_BITS +: BUFFER_BITS];
    wire faultless = in_f ? queue.enqueue.f_fault == `OLAF_FAULT_NONE
                   : in_d ? queue.enqueue.d_fault == `OLAF_FAULT_NONE
                   :        queue.enqueue.fault == `OLAF_FAULT_NONE;

    reg ages, beats_behind, alone, sizes;
    reg [1:0] older;
    integer g, k, z;
    always @* begin
        ages = 1'b1;
        beats_behind = 1'b1;
        for (g = 0; g < STAGES; g = g + 1) begin
            older = queue.merge.number - queue.merge.tag[g*TAG_BITS + ADDR_BITS + BEAT_BITS +: 2];
            if (queue.merge.flying[g])
                case (older)
                    2'd0: if (g > since) ages = 1'b0;
                    2'd1: if (g <= since) ages = 1'b0;
                    2'd2: if (g < since + 4) ages = 1'b0;
                    2'd3: if (g < since + 7) ages = 1'b0;
                endcase
            if (queue.merge.flying[g] && older == 2'd0
                && queue.merge.tag[g*TAG_BITS + ADDR_BITS +: BEAT_BITS] >= gone) beats_behind = 1'b0;
        end
        alone = 1'b1;
        for (k = 0; k < 4; k = k + 1)
            if (k != queue.merge.number && queue.filled.known[k]
                && queue.filled.buffers[k*BUFFER_BITS +: BUFFER_BITS] == own_buffer) alone = 1'b0;
        sizes = 1'b1;
        for (z = 0; z < SLOTS; z = z + 1)
            if (state(z) == WAITING && known(z) && !(queue.enqueue.merged.keep_pending && at_slot == z)
                && kept_sizes[16*z +: 16] != meta_sizes[16*z +: 16]) sizes = 1'b0;
    end

    always @(posedge aclk) if (!queue.queue_rst) begin
        // The frame at ingress.
        if (ingress == UPDATE || ingress == FILL)
            assert(queue.ingress.index != 10'd0 && queue.ingress.index <= queue.ingress.last_index && faultless);
        if (ingress == JUDGE) begin
            assert(queue.ingress.index != 10'd0);
            if (queue.ingress.fill) assert(queue.ingress.index <= queue.ingress.last_index);
            else if (faultless) assert(queue.ingress.index == queue.ingress.last_index + 10'd1);
        end
        if ((in_f || in_d || arriving) && faultless && queue.ingress.last_index >= BEATS)
            assert(ingress == JUDGE && queue.ingress.verdict == `OLAF_END_TRUNCATED && !(arriving && leaving));
        // Sizes: the update that another merges with is as long.
        assert(sizes);
        if (queue.enqueue.merged.keep_pending) assert(!in_f && !in_d && !arriving);
        if (queue.enqueue.merged.keep_pending && state(at_slot) == WAITING && known(at_slot))
            assert(queue.enqueue.meta[`OLAF_META_SIZE] == meta_size(at_slot));
        if (in_f) assert(beats_of(queue.enqueue.f_user[`OLAF_TUSER_SIZE]) == queue.ingress.last_index);
        if (in_d) begin
            assert(beats_of(queue.enqueue.d_user[`OLAF_TUSER_SIZE]) == queue.ingress.last_index);
            if (!summed(mode(queue.enqueue.d_settings)) && queue.enqueue.d_present && !queue.enqueue.lock.d_locked)
                assert(queue.enqueue.merged.same_size == (queue.enqueue.d_user[`OLAF_TUSER_SIZE] == meta_size(queue.enqueue.d_slot)));
        end
        if (arriving) begin
            assert(beats_of(queue.enqueue.meta[`OLAF_META_SIZE]) == queue.ingress.last_index);
            if (!drops && !appends && !accumulates && !leaving)
                assert(meta_size(at_slot) == queue.enqueue.meta[`OLAF_META_SIZE]);
        end
        // Numbers.
        assert(ages);
        if (in_f) assert(!at_issue && queue.ingress.index == 10'd1);
        if (in_d) assert(!at_issue && since >= 4'd1 && queue.ingress.index == 10'd1 + {9'd0, queue.enqueue.f_valid});
        if (at_issue) assert(since >= 4'd2);
        // The arriving update's beats.
        if (arriving) begin
            assert(issued >= 10'd1 && issued <= queue.ingress.index);
            assert(queue.merge.i_beat == issued[BEAT_BITS-1:0] - 1'b1 && queue.merge.i_first == (issued == 10'd1));
            if (!drops) assert(gone <= queue.ingress.last_index);
            if (!drops && !at_issue) begin
                assert(queue.filled.known[number] && queue.filled.buffers[number*BUFFER_BITS +: BUFFER_BITS] == own_buffer
                       && queue.filled.beats[number*(BEAT_BITS+1) +: BEAT_BITS+1] <= gone);
                assert(alone);
                assert(beats_behind);
            end
            if (leaving) begin
                assert(queue.dequeue.buffer == own_buffer);
                assert(queue.dequeue.last_beat == queue.ingress.last_index);
                assert(queue.filled.readable <= gone);
            end
        end
    end
