// Where payload is written: beats that open or replace an update as they are, beats that merge after
// their lanes were added to those of the waiting update, one beat a cycle.
//
//   issue      the waiting beat's address is given   (beat in `i_`)
//   read       the memory's latch has it             (beat in `r_`, stage 0)
//   add        LATENCY cycles                        (beat in `a_`, stages 1 … LATENCY)
//   write      (stage WRITE), and one cycle more until the memory can be read
//
// The next update of the same cluster may follow at once: a beat whose waiting beat is still in the
// adders waits at issue until it can be forwarded from one of the last stages. With LATENCY 4 an update of
// four beats or more never waits for the one before. Whether a beat must wait is known a cycle ahead, so
// that what stops the beats behind it is a flip-flop. Beats that need no adding are written at issue when
// the pipeline behind is empty, and ride through it in order otherwise.
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_merge #(
    parameter LATENCY = 4,
    parameter ADDR_BITS = 8,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    rst,

    input  wire                    in_valid,
    output wire                    in_ready,
    input  wire                    in_first,
    input  wire [`OLAF_LANES-1:0]  in_missing,
    input  wire [`OLAF_BEAT_BITS-1:0] in_data,

    // The update that the beat at issue belongs to.
    input  wire [`OLAF_DISPOSITION_BITS-1:0] disposition,
    input  wire [ADDR_BITS-1:0]    next_write,     // where it is written, and what it may merge with:
    input  wire [ADDR_BITS-1:0]    next_waiting,   // both as they will be once a first beat is taken
    input  wire                    old_headers,
    input  wire                    patches,        // its headers are those of an aggregate
    input  wire [`OLAF_PATCH_BITS-1:0] patch,   // which are these

    output wire                    read,
    output wire [ADDR_BITS-1:0]    read_addr,
    input  wire [`OLAF_BEAT_BITS-1:0] read_data,   // two cycles later

    output wire                    write,
    output wire [ADDR_BITS-1:0]    write_addr,
    output wire [`OLAF_BEAT_BITS-1:0] write_data,
    output wire [BEAT_BITS-1:0]    write_beat,     // of the update with this number
    output wire [1:0]              write_number,

    output wire                    open,           // the update at issue is about to be written
    output wire                    opened,         // and its first beat is written now
    output wire [1:0]              open_number,
    output wire                    idle
);
    localparam LANES = `OLAF_LANES;
    localparam WIDTH = `OLAF_BEAT_BITS;
    localparam WRITE = LATENCY + 1;
    localparam [1:0] FROM_MEMORY = 2'd0, FROM_RESULT = 2'd1, FROM_WRITTEN = 2'd2, FROM_EARLIER = 2'd3;
    localparam [31:0] NOTHING = 32'h80000000;  // -0, the number that adds nothing to any other
    localparam TAG_BITS = 2 + BEAT_BITS + ADDR_BITS;  // what a beat on its way is written as

    // Issue.
    reg                 i_valid;
    reg                 i_first;
    reg [WIDTH-1:0]     i_data;
    reg [BEAT_BITS-1:0] i_beat;
    reg [ADDR_BITS-1:0] i_read, i_write;
    reg                 waits;         // the beat at issue must
    reg [1:0]           number;        // of the update that was opened last

    // On the way: of stage i at [i].
    reg [WRITE:0]        flying;
    reg  [(WRITE+1)*TAG_BITS-1:0] tag;   // of stage i at i * TAG_BITS
    reg [WRITE:0]        patched;
    reg [`OLAF_PATCH_BITS-1:0] patch_of [0:WRITE];

    wire merging = disposition == `OLAF_MERGE;
    wire writes = i_valid && !disposition[`OLAF_IS_DROP];
    wire needs_old = merging && !(i_first && !old_headers);
    assign in_ready = !waits;
    assign read_addr = i_read;

    // Which stages hold the waiting beat: compared a cycle ahead.
    wire [ADDR_BITS-1:0] next_read = !in_ready ? i_read
                                   : in_first  ? next_waiting
                                   :             i_read + 1'b1;
    wire enters;
    wire [1:0] i_number = i_first ? number + 2'd1 : number;
    wire [TAG_BITS-1:0] i_tag = {i_number, i_beat, i_write};
    reg  [WRITE:0] same_beat, next_same_beat;
    reg            next_waits;
    reg  [1:0]     source;
    integer        stage;
    always @* begin
        next_same_beat[0] = i_write == next_read;
        for (stage = 1; stage <= WRITE; stage = stage + 1)
            next_same_beat[stage] = tag[(stage-1)*TAG_BITS +: ADDR_BITS] == next_read;

        next_waits = enters && next_same_beat[0];
        for (stage = 1; stage < LATENCY - 1; stage = stage + 1)
            if (flying[stage-1] && next_same_beat[stage]) next_waits = 1'b1;
        if (in_ready && !in_valid) next_waits = 1'b0;

        source = FROM_MEMORY;
        if (flying[WRITE] && same_beat[WRITE]) source = FROM_EARLIER;
        if (flying[LATENCY] && same_beat[LATENCY]) source = FROM_WRITTEN;
        if (flying[LATENCY-1] && same_beat[LATENCY-1]) source = FROM_RESULT;
        if (!needs_old) source = FROM_EARLIER;
    end

    wire empty = ~|flying;
    wire early = writes && !merging && !(patches && i_first) && empty && !waits;
    assign enters = writes && !early && !waits;
    assign read = enters;
    assign open = writes && i_first;
    assign opened = early && i_first;
    assign open_number = i_number;
    assign idle = !i_valid && ~|flying;

    always @(posedge clk)
        if (rst) begin
            i_valid <= 1'b0;
            waits <= 1'b0;
            number <= 2'd0;
        end else begin
            if (in_ready) i_valid <= in_valid;
            waits <= next_waits;
            if (open && !waits) number <= i_number;
        end

    integer lane_in;
    always @(posedge clk) begin
        same_beat <= next_same_beat;
        if (in_ready && in_valid) begin
            i_first <= in_first;
            i_beat <= in_first ? {BEAT_BITS{1'b0}} : i_beat + 1'b1;
            i_read <= next_read;
            i_write <= in_first ? next_write : i_write + 1'b1;
            for (lane_in = 0; lane_in < LANES; lane_in = lane_in + 1)
                i_data[32*lane_in +: 32] <= in_missing[lane_in] ? {merging, 31'd0} : in_data[32*lane_in +: 32];
        end
    end

    // Read, and add.
    reg  [WIDTH-1:0] r_data, a_data;
    reg  [1:0]       r_source, a_source;
    reg              r_copy, a_copy, r_adds;
    wire [WIDTH-1:0] sum;
    reg  [WIDTH-1:0] result, written, earlier;   // what is written, what was a cycle ago, and what before

    always @(posedge clk)
        if (rst) flying <= {(WRITE + 1){1'b0}};
        else flying <= {flying[LATENCY:0], enters};

    // Nothing of it moves where no beat is on the way.
    always @(posedge clk) begin
        if (enters) begin
            r_source <= source;
            r_adds <= needs_old;
            r_copy <= !merging || i_first;
            r_data <= i_first && merging && old_headers ? {LANES{NOTHING}} : i_data;
            patched[0] <= patches && i_first;
            patch_of[0] <= patch;
        end
        if (enters || !empty) begin
            tag <= {tag[WRITE*TAG_BITS-1:0], i_tag};
            for (stage = 1; stage <= WRITE; stage = stage + 1) begin
                patched[stage] <= patched[stage-1];
                patch_of[stage] <= patch_of[stage-1];
            end
        end
        if (flying[0]) begin
            a_source <= r_source;
            a_copy <= r_copy;
            a_data <= r_data;
            earlier <= r_adds ? written : {LANES{NOTHING}};  // for the beat that is added next
        end
        if (flying[WRITE]) written <= result;
    end

    // An aggregate's first beat gets its new header fields. Its payload differs, so its UDP checksum must
    // not be checked any more.
    wire [`OLAF_PATCH_BITS-1:0] written_patch = patch_of[WRITE];
    wire [`OLAF_OLAF_REWARD_WIDTH-1:0] reward = written_patch[`OLAF_PATCH_REWARD];
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0]  count = written_patch[`OLAF_PATCH_COUNT];
    wire [`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1:0] weights_version = written_patch[`OLAF_PATCH_WEIGHTS_VERSION];
    wire [`OLAF_OLAF_SEQ_WIDTH-1:0]    seq = written_patch[`OLAF_PATCH_SEQ];
    always @* begin
        result = sum;
        if (patched[WRITE]) begin
            result[`OLAF_UDP_CHECKSUM] = {`OLAF_UDP_CHECKSUM_WIDTH{1'b0}};
            result[`OLAF_OLAF_FLAGS] = (sum[`OLAF_OLAF_FLAGS] & ~`OLAF_FLAG_SUMMED) | `OLAF_FLAG_AGGREGATED
                                     | (written_patch[`OLAF_PATCH_SUMMED] ? `OLAF_FLAG_SUMMED : 4'd0);
            result[`OLAF_OLAF_COUNT] = `OLAF_OLAF_COUNT_WIRE(count);
            result[`OLAF_OLAF_REWARD] = `OLAF_OLAF_REWARD_WIRE(reward);
            result[`OLAF_OLAF_WEIGHTS_VERSION] = `OLAF_OLAF_WEIGHTS_VERSION_WIRE(weights_version);
            if (written_patch[`OLAF_PATCH_NUMBERED]) result[`OLAF_OLAF_SEQ] = `OLAF_OLAF_SEQ_WIRE(seq);
        end
    end

    wire [WIDTH-1:0] waiting = a_source == FROM_MEMORY ? read_data
                             : a_source == FROM_RESULT  ? result
                             : a_source == FROM_WRITTEN ? written
                             :                            earlier;
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
            olaf_fp32_add #(.LATENCY(LATENCY)) add (
                .clk(clk), .step(flying[LATENCY:1]), .copy(a_copy),
                .a(a_data[32*lane +: 32]), .b(waiting[32*lane +: 32]), .sum(sum[32*lane +: 32])
            );
        end
    endgenerate

    assign write = flying[WRITE] || early;
    assign {write_number, write_beat, write_addr} = flying[WRITE] ? tag[WRITE*TAG_BITS +: TAG_BITS] : i_tag;
    assign write_data = flying[WRITE] ? result : i_data;

endmodule
`default_nettype wire
