// Where frames come in: separates updates from all else, checks each update against what it declares, and
// hands on exactly the beats it declared.
//
// An update's disposition is settled by the end of its last declared beat. Until then one that proves bad is
// undone without a trace, unless it has begun to leave; then its missing beats are filled in, so that
// what leaves is always a whole frame of the declared size.
`default_nettype none
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
module olaf_ingress #(
    parameter INDICES = 16,
    parameter BEATS = 24
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [`OLAF_BEAT_BITS-1:0]  s_tdata,
    input  wire [`OLAF_BEAT_BYTES-1:0] s_tkeep,
    input  wire [`OLAF_TUSER_BITS-1:0] s_tuser,
    input  wire         s_tlast,
    input  wire         s_tvalid,
    output wire         s_tready,

    // The beat at hand, for the bypass and for the queue.
    output reg  [`OLAF_BEAT_BITS-1:0]  data,
    output reg  [`OLAF_BEAT_BYTES-1:0] keep,
    output reg  [`OLAF_TUSER_BITS-1:0] user,
    output reg          last,
    output wire         first,

    output wire         bypass_valid,
    input  wire         bypass_ready,

    output wire         update_valid,
    input  wire         update_ready,
    output wire         update_first,
    output wire [`OLAF_LANES-1:0] missing,        // lanes of the beat that did not come whole
    output wire [`OLAF_FAULT_BITS-1:0] fault,     // with the first beat

    input  wire         pause,         // no update may begin to be handed on

    // The end of the update that was handed on last.
    input  wire         decided,       // its disposition is known
    input  wire         leaving,       // it has begun to leave
    output wire         ended,
    output wire [`OLAF_END_BITS-1:0] ending,
    output wire         repaired,
    output wire         bad_frame,      // it proved bad: it must not begin to leave now
    output wire         idle
);
    localparam [2:0] FIRST = 3'd0,    // the beat at hand, or the next one, is a frame's first
                     UPDATE = 3'd1,   // it belongs to an update, within what that declared
                     OTHER = 3'd2,    // it belongs to another frame
                     JUDGE = 3'd3,    // an update has come to its declared end, or a bad one, and is not settled
                     FILL = 3'd4,     // what is missing of one that leaves is filled in
                     SWALLOW = 3'd5;  // what comes after its declared end is dropped

    reg          valid;        // a beat is at hand
    reg  [2:0]   state;
    reg  [`OLAF_END_BITS-1:0] verdict;
    reg          more;          // the frame goes on after its declared end
    reg          fill;          // it ended before its last declared beat; of no matter with a fault
    reg          torn;          // a beat before the last came incomplete
    reg  [9:0]   index;         // beats of the frame before this one
    reg  [9:0]   last_index;    // of the last declared beat
    reg  [`OLAF_BEAT_BYTES-1:0] tail_keep;     // bytes of the last declared beat

    wire [`OLAF_TUSER_SIZE_WIDTH-1:0] size = user[`OLAF_TUSER_SIZE];
    wire [`OLAF_TUSER_INDEX_WIDTH-1:0] of_index = user[`OLAF_TUSER_INDEX];
    wire [`OLAF_UDP_LENGTH_WIDTH-1:0] udp_length = `OLAF_UDP_LENGTH_VALUE(data);
    wire        of_update = first ? user[`OLAF_TUSER_KIND] == `OLAF_KIND_UPDATE : state == UPDATE;
    // Whether the size is the UDP length and what comes before it, bit by bit without a carry that runs through:
    // each bit of the sum needs the carry that the bit below must have made for the size to be right.
    localparam [`OLAF_UDP_LENGTH_WIDTH:0] OFFSET = `OLAF_UDP_OFFSET;
    wire [`OLAF_UDP_LENGTH_WIDTH:0] addend = {1'b0, udp_length}, sum = {1'b0, size};
    wire [`OLAF_UDP_LENGTH_WIDTH:0] carries = (addend & OFFSET) | ((addend | OFFSET) & ~sum);
    wire        size_by_length = (addend ^ OFFSET ^ sum) == {carries[`OLAF_UDP_LENGTH_WIDTH-1:0], 1'b0};
    wire        whole_gradients = size >= `OLAF_HEADER_BYTES && size[1:0] == 2'd0;
    wire        headless = !(&keep);   // of a first beat: its headers are not whole

    assign first = state == FIRST;
    assign update_first = first;
    assign fault = headless ? (size < `OLAF_HEADER_BYTES ? `OLAF_FAULT_LENGTH : `OLAF_FAULT_NONE)
                 : data[`OLAF_OLAF_VERSION] != `OLAF_VERSION
                || data[`OLAF_OLAF_FRAME_TYPE] != `OLAF_TYPE_UPDATE
                || ~|data[`OLAF_OLAF_COUNT] ? `OLAF_FAULT_HEADER
                 : !size_by_length || !whole_gradients ? `OLAF_FAULT_LENGTH
                 : {16'd0, size} > `OLAF_BEAT_BYTES * BEATS ? `OLAF_FAULT_OVERSIZE
                 : {16'd0, of_index} >= INDICES ? `OLAF_FAULT_INDEX
                 : `OLAF_FAULT_NONE;
    wire faulty = first && fault != `OLAF_FAULT_NONE;

    // So many, from the lowest on: bit by bit of the number, for a shift or a comparison would become a carry chain.
    function [`OLAF_BEAT_BYTES-1:0] first_bytes(input [5:0] count);
        integer place;
        begin
            first_bytes = {`OLAF_BEAT_BYTES{1'b0}};
            for (place = 0; place < 6; place = place + 1)
                if (count[place]) first_bytes = ~(~first_bytes << (1 << place));
        end
    endfunction

    // What the frame declares, from its first beat. What is judged by it waits for no subtraction.
    wire [15:0] size_less_one = size - 16'd1;
    wire [9:0]  declared_last = size_less_one[15:6];
    wire        unused = &{1'b0, size_less_one[5:0], carries[`OLAF_UDP_LENGTH_WIDTH]};
    wire        whole_beats = ~|size[5:0];
    wire        one_beat = ~|size[15:7] && size[6] == whole_beats;
    wire [`OLAF_BEAT_BYTES-1:0] declared_keep = {64{whole_beats}} | first_bytes(size[5:0]);
    wire [9:0]  at = update_first ? 10'd0 : index;
    wire        at_last = first ? one_beat : index == last_index;
    wire [`OLAF_BEAT_BYTES-1:0] due_last = first ? declared_keep : tail_keep;
    wire [`OLAF_BEAT_BYTES-1:0] lacking = at_last ? due_last & ~keep : ~keep;
    wire        incomplete = at_last ? |(due_last & ~keep) : headless;
    wire        excess = |(keep & ~due_last);   // of the last declared beat

    // Without its headers whole an update must not begin to leave: it is bad at once. Of one with a fault the
    // fault alone counts, so that what it is judged to be need not wait for that.
    wire [`OLAF_END_BITS-1:0] judged = first && headless || !at_last ? `OLAF_END_TRUNCATED
                       : !last ? `OLAF_END_OVERLONG
                       : incomplete || torn && !first ? `OLAF_END_TRUNCATED
                       : excess ? `OLAF_END_OVERLONG
                       : `OLAF_END_GOOD;
    wire over = faulty || (first && headless) || at_last || last;
    wire running = valid && (first || state == UPDATE) && of_update && !(first && pause);

    assign bypass_valid = valid && (first || state == OTHER) && !of_update;
    assign update_valid = running || state == FILL;
    genvar lane;
    generate
        for (lane = 0; lane < `OLAF_LANES; lane = lane + 1) begin : lanes
            localparam BYTES = `OLAF_BEAT_BYTES / `OLAF_LANES;
            assign missing[lane] = state == FILL || |lacking[lane*BYTES +: BYTES];
        end
    endgenerate

    wire taken = running && update_ready;
    wire passed = bypass_valid && bypass_ready;
    wire leaves = taken || passed || (state == SWALLOW && valid);
    assign s_tready = !rst && (!valid || leaves);

    // An update ends with its last beat when that is good, which is the common case and takes few levels of logic:
    // what the first beat declared is in registers by then. Else it is judged, and filled in if need be.
    wire good_now = taken && !first && last && index == last_index && keep == tail_keep && !torn && decided;
    wire fills = fill && leaving;
    wire settled = state == JUDGE && decided && !fills;
    wire filled = state == FILL && update_ready && index == last_index;
    assign ended = good_now || settled || filled;
    assign repaired = filled || (settled && leaving && verdict != `OLAF_END_GOOD);
    assign ending = settled && !leaving ? verdict : `OLAF_END_GOOD;
    assign idle = !valid && (first || state == UPDATE || state == OTHER);
    assign bad_frame = state == JUDGE && verdict != `OLAF_END_GOOD;

    always @(posedge clk)
        if (rst) begin
            valid <= 1'b0;
            state <= FIRST;
        end else begin
            if (s_tready) valid <= s_tvalid;
            case (state)
                FIRST, UPDATE, OTHER:
                    if (good_now) state <= FIRST;
                    else if (taken) state <= over ? JUDGE : UPDATE;
                    else if (passed) state <= last ? FIRST : OTHER;
                JUDGE: if (decided) state <= fills ? FILL : more ? SWALLOW : FIRST;
                FILL: if (filled) state <= FIRST;
                default: if (valid && last) state <= FIRST;
            endcase
        end

    always @(posedge clk) begin
        if (s_tready && s_tvalid) begin
            data <= s_tdata;
            keep <= s_tkeep;
            user <= s_tuser;
            last <= s_tlast;
        end
        if (taken || (state == FILL && update_ready)) index <= at + 10'd1;
        if (taken) begin
            if (first) last_index <= declared_last;
            if (first) tail_keep <= declared_keep;
            torn <= (!first && torn) || incomplete;
            verdict <= judged;
            more <= !last;
            fill <= !at_last;
        end
    end
endmodule
`default_nettype wire
