// Where payload is written: beats that open or replace an update as they are, beats that merge after
// their lanes were added to those of the waiting update, one beat a cycle.
//
//   issue      the waiting beat is read              (beat in `i_`)
//   add        LATENCY cycles                        (stage 0 … LATENCY-1)
//   write      (stage LATENCY), and one cycle more until the memory can be read (stage LATENCY+1)
//
// The next update of the same cluster may follow at once: a beat whose waiting beat is still in the
// adders waits at issue until it can be forwarded from one of the last two stages. With LATENCY 4 an
// update of four beats or more never waits for the one before. Beats that need no adding are written
// at issue when the pipeline behind is empty, and ride through it in order otherwise.
`default_nettype none
`include "olaf_layout.vh"
`include "olaf_dispositions.vh"
module olaf_merge #(
    parameter LATENCY = 4,
    parameter BUFFER_BITS = 4,
    parameter BEAT_BITS = 5
) (
    input  wire                    clk,
    input  wire                    rst,

    input  wire                    in_valid,
    output wire                    in_ready,
    input  wire                    in_first,
    input  wire                    in_missing,
    input  wire [`OLAF_BEAT_BITS-1:0]     in_data,

    // The update that the beat at issue belongs to.
    input  wire [`OLAF_DISPOSITION_BITS-1:0] disposition,
    input  wire [BUFFER_BITS-1:0] buffer,
    input  wire [BUFFER_BITS-1:0] merge_buffer,
    input  wire [BUFFER_BITS-1:0] next_buffer,       // both as they will be once a first beat is taken
    input  wire [BUFFER_BITS-1:0] next_merge_buffer,
    input  wire                    old_headers,
    input  wire [15:0]             merged_count,
    input  wire [31:0]             merged_reward,

    output wire                    read,
    output wire [BUFFER_BITS+BEAT_BITS-1:0] read_addr,
    input  wire [`OLAF_BEAT_BITS-1:0]     read_data,

    output wire                    write,
    output wire [BUFFER_BITS+BEAT_BITS-1:0] write_addr,
    output wire [`OLAF_BEAT_BITS-1:0]     write_data,

    output wire                    opening,      // `buffer` is about to be written again
    output wire                    opened,       // and its first beat is written now
    output wire                    idle
);
    localparam LANES = `OLAF_LANES;
    localparam WIDTH = `OLAF_BEAT_BITS;
    localparam ADDR_BITS = BUFFER_BITS + BEAT_BITS;
    localparam [1:0] FROM_MEMORY = 2'd0, FROM_WRITE = 2'd1, FROM_AFTER = 2'd2, FROM_NOTHING = 2'd3;
    localparam [31:0] NOTHING = 32'h80000000;  // -0, the number that adds nothing to any other

    // Issue.
    reg                 i_valid;
    reg                 i_first;
    reg [WIDTH-1:0]     i_data;
    reg [BEAT_BITS-1:0] i_beat;

    reg  [LATENCY+1:0]   flying;
    reg  [(LATENCY+2)*ADDR_BITS-1:0] addr;   // of stage i at i * ADDR_BITS
    reg  [LATENCY:0]     patched;
    reg  [`OLAF_OLAF_REWARD_WIDTH+`OLAF_OLAF_COUNT_WIDTH-1:0] patch [0:LATENCY];

    wire merging = disposition == `OLAF_MERGE;
    wire writes = i_valid && !disposition[`OLAF_IS_DROP];
    wire [ADDR_BITS-1:0] to = {buffer, i_beat};
    assign read_addr = {merge_buffer, i_beat};

    wire needs_old = merging && !(i_first && !old_headers);

    // Which stages hold the waiting beat, and which are on their way to this buffer: compared a cycle
    // ahead, so that waiting at issue takes few levels of logic.
    reg  [LATENCY:0] same_beat, same_buffer;

    reg  [1:0] source;
    reg        hazard;
    integer    stage;
    always @* begin
        source = needs_old ? FROM_MEMORY : FROM_NOTHING;
        hazard = 1'b0;
        for (stage = LATENCY; stage >= 0; stage = stage - 1)
            if (needs_old && flying[stage] && same_beat[stage]) begin
                hazard = stage < LATENCY - 1;
                source = stage == LATENCY ? FROM_AFTER : FROM_WRITE;
            end
        // A buffer that was freed a moment ago may still be on its way to being written.
        for (stage = LATENCY - 1; stage >= 0; stage = stage - 1)
            if (i_first && flying[stage] && same_buffer[stage]) hazard = 1'b1;
    end

    wire [ADDR_BITS-1:0] moved_addr = in_first ? {next_merge_buffer, {BEAT_BITS{1'b0}}}
                                               : {merge_buffer, i_beat + 1'b1};
    wire [(LATENCY+1)*ADDR_BITS-1:0] next_addr = {addr[LATENCY*ADDR_BITS-1:0], to};
    always @(posedge clk)
        for (stage = 0; stage <= LATENCY; stage = stage + 1) begin
            same_beat[stage] <= next_addr[stage*ADDR_BITS +: ADDR_BITS] == (in_ready ? moved_addr : read_addr);
            same_buffer[stage] <= next_addr[stage*ADDR_BITS + BEAT_BITS +: BUFFER_BITS]
                                == (in_ready ? next_buffer : buffer);
        end

    wire empty = ~|flying[LATENCY:0];
    wire early = writes && !merging && empty;
    wire enters = writes && !early && !hazard;
    assign in_ready = !i_valid || !writes || !hazard;
    assign opening = writes && i_first;
    assign opened = early && i_first;
    assign read = enters;
    assign idle = !i_valid && ~|flying;

    always @(posedge clk)
        if (rst) i_valid <= 1'b0;
        else if (in_ready) i_valid <= in_valid;

    always @(posedge clk)
        if (in_ready && in_valid) begin
            i_first <= in_first;
            i_beat <= in_first ? {BEAT_BITS{1'b0}} : i_beat + 1'b1;
            i_data <= in_missing ? {LANES{{merging, 31'd0}}} : in_data;
        end

    // Add.
    reg  [WIDTH-1:0] a_data;
    reg  [1:0]       a_source;
    reg              a_copy;
    wire [WIDTH-1:0] sum;
    reg  [WIDTH-1:0] after;

    always @(posedge clk) begin
        if (rst) flying <= {(LATENCY + 2){1'b0}};
        else flying <= {flying[LATENCY:0], enters};
        if (enters) begin
            addr[0 +: ADDR_BITS] <= to;
            a_source <= source;
            a_copy <= !merging || i_first;
            a_data <= i_first && merging && old_headers ? {LANES{NOTHING}} : i_data;
            patched[0] <= merging && i_first;
            patch[0] <= {merged_reward, merged_count};
        end
        for (stage = 0; stage <= LATENCY; stage = stage + 1)
            if (flying[stage]) addr[(stage+1)*ADDR_BITS +: ADDR_BITS] <= addr[stage*ADDR_BITS +: ADDR_BITS];
        for (stage = 0; stage < LATENCY; stage = stage + 1)
            if (flying[stage]) begin
                patched[stage+1] <= patched[stage];
                patch[stage+1] <= patch[stage];
            end
        if (flying[LATENCY]) after <= write_data;
    end

    // Write; a merged update's first beat gets its new header fields, in network order.
    wire [`OLAF_OLAF_REWARD_WIDTH-1:0] reward;
    wire [`OLAF_OLAF_COUNT_WIDTH-1:0]  count;
    assign {reward, count} = patch[LATENCY];
    reg [WIDTH-1:0] result;
    always @* begin
        result = sum;
        if (patched[LATENCY]) begin
            result[`OLAF_OLAF_FLAGS] = sum[`OLAF_OLAF_FLAGS] | `OLAF_FLAG_AGGREGATED;
            result[`OLAF_OLAF_COUNT] = `OLAF_OLAF_COUNT_WIRE(count);
            result[`OLAF_OLAF_REWARD] = `OLAF_OLAF_REWARD_WIRE(reward);
        end
    end

    wire [WIDTH-1:0] waiting = a_source == FROM_MEMORY ? read_data
                             : a_source == FROM_WRITE  ? result
                             : a_source == FROM_AFTER  ? after
                             :                           {LANES{NOTHING}};
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
            olaf_fp32_add #(.LATENCY(LATENCY)) add (
                .clk(clk), .step(flying[LATENCY-1:0]), .copy(a_copy),
                .a(a_data[32*lane +: 32]), .b(waiting[32*lane +: 32]), .sum(sum[32*lane +: 32])
            );
        end
    endgenerate

    assign write = flying[LATENCY] || early;
    assign write_addr = flying[LATENCY] ? addr[LATENCY*ADDR_BITS +: ADDR_BITS] : to;
    assign write_data = flying[LATENCY] ? result : i_data;
endmodule
`default_nettype wire
