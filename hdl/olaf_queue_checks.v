// What must hold in every cycle of every simulation; nothing of it is synthesized.
//
//   - a buffer is in exactly one place: queued, free, or the spare
//   - a cluster has at most one update in the queue that has not begun to leave
//   - AXI4-Stream: what is offered stays as it is until it is taken
`default_nettype none
`include "olaf_meta.vh"
module olaf_queue_checks #(
    parameter SLOTS = 8,
    parameter AXIS_BITS = 1,  // of everything the output offers
    parameter BUFFER_BITS = 4,
    parameter PLACE_BITS = 3
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [AXIS_BITS-1:0] m_axis,
    input  wire                    m_valid,
    input  wire                    m_ready,
    input  wire                    committed,
    input  wire                    appended,
    input  wire [PLACE_BITS-1:0]   place,
    input  wire [BUFFER_BITS-1:0] buffer,
    input  wire [BUFFER_BITS-1:0] spare_next,
    input  wire [`OLAF_META_CLUSTER_WIDTH-1:0] cluster,
    input  wire                    tracked,
    input  wire                    depart,
    input  wire [PLACE_BITS-1:0]   departed,
    input  wire [BUFFER_BITS-1:0] given,
    input  wire                    busy,
    input  wire [PLACE_BITS-1:0]   head,
    input  wire [PLACE_BITS:0]     count
);
`ifndef SYNTHESIS
    localparam BUFFERS = SLOTS + 1;
    localparam [PLACE_BITS:0] FULL = SLOTS[PLACE_BITS:0];
    localparam [1:0] FREE = 2'd0, QUEUED = 2'd1, SPARE = 2'd2;

    reg  [1:0]              where_is [0:BUFFERS-1];
    reg                     queued   [0:SLOTS-1];
    reg                     known    [0:SLOTS-1];
    reg  [`OLAF_META_CLUSTER_WIDTH-1:0] of       [0:SLOTS-1];
    reg  [AXIS_BITS-1:0]   offered;
    reg                     waits;
    integer each;

    task broken(input [8*60-1:0] what);
        begin
            $display("olaf_queue: %0s", what);
            $stop;
        end
    endtask

    initial begin
        waits = 1'b0;
    end

    always @(posedge clk) begin
        waits <= !rst && m_valid && !m_ready;
        if (m_valid) offered <= m_axis;
        if (waits && (!m_valid || m_axis != offered)) broken("an offered beat changed before it was taken");
    end

    always @(posedge clk)
        if (rst) begin
            for (each = 0; each < BUFFERS; each = each + 1)
                where_is[each] <= each == SLOTS ? SPARE : FREE;
            for (each = 0; each < SLOTS; each = each + 1) queued[each] <= 1'b0;
        end else begin
            if (committed) begin
                if (where_is[buffer] != SPARE) broken("an update was written to a buffer not its own");
                where_is[buffer] <= QUEUED;
                if (appended ? where_is[spare_next] != FREE : where_is[spare_next] != QUEUED)
                    broken("the new spare buffer was in use");
                where_is[spare_next] <= SPARE;
                if (appended == queued[place]) broken("an update took a place that was not its own");
                queued[place] <= 1'b1;
                known[place] <= appended ? tracked : known[place];
                of[place] <= cluster;
                for (each = 0; each < SLOTS; each = each + 1)
                    if (appended && tracked && queued[each] && known[each] && of[each] == cluster
                        && !(busy && head == each[PLACE_BITS-1:0]))
                        broken("a second unlocked update of a cluster");
            end
            if (depart) begin
                if (where_is[given] != QUEUED && !(committed && buffer == given))
                    broken("a buffer left that was not queued");
                if (!queued[departed]) broken("a place left that was not queued");
                where_is[given] <= FREE;
                queued[departed] <= 1'b0;
            end
            if (count > FULL) broken("more updates than slots");
        end
`else
    wire unused = &{1'b0, clk, rst, m_axis, m_valid, m_ready, committed, appended, place, buffer,
                    spare_next, cluster, tracked, depart, departed, given, busy, head, count, SLOTS > 0};
`endif
endmodule
`default_nettype wire
