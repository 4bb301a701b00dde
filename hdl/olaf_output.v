// The way out: puts the queue's and the bypass' beats on the wire, with the queue's status as it is when
// a frame's first beat comes from memory.
//
// Beats come from memory two cycles after they were issued and wait in a short FIFO for the wire. A beat
// is issued only when it will find room there, so that what holds up the wire ends at a flip-flop.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`default_nettype none
module olaf_output #(
    parameter SLOTS = 8,
    parameter SLOT_BITS = 3
) (
    input  wire         clk,
    input  wire         rst,
    output reg          free,            // a beat may be issued

    input  wire         update_issue,    // its data follow two cycles later
    input  wire         update_first,
    input  wire         update_last,
    input  wire [`OLAF_META_BITS-1:0]  update_meta,
    input  wire [`OLAF_BEAT_BITS-1:0]  update_data,

    input  wire         bypass_issue,
    input  wire         bypass_first,
    input  wire         bypass_last,
    input  wire [`OLAF_BEAT_BITS-1:0]  bypass_data,
    input  wire [`OLAF_BEAT_BYTES-1:0] bypass_keep,
    input  wire [`OLAF_TUSER_BITS-1:0] bypass_user,

    input  wire [SLOT_BITS:0] occupancy,
    input  wire [15:0]  active_clusters,

    output reg  [`OLAF_BEAT_BITS-1:0]  m_tdata,
    output reg  [`OLAF_BEAT_BYTES-1:0] m_tkeep,
    output reg  [`OLAF_TUSER_BITS-1:0] m_tuser,
    output reg          m_tlast,
    output reg          m_tvalid,
    input  wire         m_tready,
    output wire         sent_update,     // a frame's last beat has left
    output wire         sent_bypass,
    output wire         idle
);
    localparam DEPTH_BITS = 3;
    localparam [DEPTH_BITS:0] DEPTH = 1 << DEPTH_BITS;
    localparam [SLOT_BITS:0] FULL = SLOTS[SLOT_BITS:0];
    localparam KEEP_BITS = $clog2(`OLAF_BEAT_BYTES);

    // Issued a cycle ago (`l_`, in the memory's latch) and two (`r_`, in its output register).
    reg l_valid, l_update, l_first, l_last, r_valid, r_update, r_first, r_last;
    reg [`OLAF_META_BITS-1:0] l_meta, meta;

    // The FIFO, and the tuser of the frames that begin in it.
    reg  [`OLAF_BEAT_BITS-1:0]  beats [0:(1<<DEPTH_BITS)-1];
    reg  [`OLAF_BEAT_BYTES-1:0] keeps [0:(1<<DEPTH_BITS)-1];
    reg  [2:0]                  marks [0:(1<<DEPTH_BITS)-1];
    reg  [`OLAF_TUSER_BITS-1:0] users [0:(1<<DEPTH_BITS)-1];
    reg  [DEPTH_BITS-1:0] put, get;
    reg  [DEPTH_BITS:0]   held;      // in the FIFO
    reg  [DEPTH_BITS:0]   under_way; // issued and not on the wire
    reg                   wire_update;

    wire issue = update_issue || bypass_issue;
    wire take = held != 0 && (!m_tvalid || m_tready);
    wire [DEPTH_BITS:0] under_way_next = under_way + {{DEPTH_BITS{1'b0}}, issue} - {{DEPTH_BITS{1'b0}}, take};

    assign idle = under_way == 0 && !m_tvalid;
    assign sent_update = m_tvalid && m_tready && m_tlast && wire_update;
    assign sent_bypass = m_tvalid && m_tready && m_tlast && !wire_update;

    always @(posedge clk)
        if (rst) begin
            free <= 1'b0;
            l_valid <= 1'b0;
            r_valid <= 1'b0;
            m_tvalid <= 1'b0;
            put <= {DEPTH_BITS{1'b0}};
            get <= {DEPTH_BITS{1'b0}};
            held <= {(DEPTH_BITS + 1){1'b0}};
            under_way <= {(DEPTH_BITS + 1){1'b0}};
        end else begin
            free <= under_way_next < DEPTH;
            l_valid <= issue;
            r_valid <= l_valid;
            if (held != 0) m_tvalid <= 1'b1;
            else if (m_tready) m_tvalid <= 1'b0;
            if (r_valid) put <= put + 1'b1;
            if (take) get <= get + 1'b1;
            held <= held + {{DEPTH_BITS{1'b0}}, r_valid} - {{DEPTH_BITS{1'b0}}, take};
            under_way <= under_way_next;
        end

    always @(posedge clk) begin
        l_update <= update_issue;
        l_first <= update_issue ? update_first : bypass_first;
        l_last <= update_issue ? update_last : bypass_last;
        if (update_issue) l_meta <= update_meta;
        r_update <= l_update;
        r_first <= l_first;
        r_last <= l_last;
        if (l_valid && l_update) meta <= l_meta;
    end

    // The tuser and the bytes of the beat at the memory's output.
    wire [`OLAF_TUSER_OCCUPANCY_WIDTH-1:0] updates = {{(`OLAF_TUSER_OCCUPANCY_WIDTH - SLOT_BITS - 1){1'b0}}, occupancy};
    wire [`OLAF_TUSER_STATUS_FLAGS_WIDTH-1:0] flags = (occupancy == FULL ? `OLAF_STATUS_FULL : 0)
                                                    | ({16'd0, active_clusters} > SLOTS ? `OLAF_STATUS_CONGESTED : 0);
    reg [`OLAF_TUSER_BITS-1:0] user;
    always @* begin
        user = bypass_user;
        if (r_update) begin
            user[`OLAF_TUSER_SIZE] = meta[`OLAF_META_SIZE];
            user[`OLAF_TUSER_SRC] = meta[`OLAF_META_SRC];
            user[`OLAF_TUSER_DST] = meta[`OLAF_META_DST];
            user[`OLAF_TUSER_KIND] = meta[`OLAF_META_RESULT] ? `OLAF_KIND_RESULT : `OLAF_KIND_UPDATE;
            user[`OLAF_TUSER_CLUSTER] = meta[`OLAF_META_CLUSTER];
            user[`OLAF_TUSER_INDEX] = meta[`OLAF_META_INDEX];
            user[`OLAF_TUSER_MEMBER] = meta[`OLAF_META_MEMBER];
            user[`OLAF_TUSER_WORKER] = meta[`OLAF_META_WORKER];
        end
        user[`OLAF_TUSER_OCCUPANCY] = updates;
        user[`OLAF_TUSER_ACTIVE_CLUSTERS] = active_clusters;
        user[`OLAF_TUSER_SLOTS] = SLOTS[`OLAF_TUSER_SLOTS_WIDTH-1:0];
        user[`OLAF_TUSER_STATUS_FLAGS] = flags;
    end
    wire        status_sampled /* verilator public_flat_rd */;
    assign status_sampled = r_valid && r_first;

    wire [KEEP_BITS-1:0] tail = meta[`OLAF_META_SIZE_LOW +: KEEP_BITS] - 1'b1;
    wire [`OLAF_BEAT_BYTES-1:0] tail_keep = ~({{(`OLAF_BEAT_BYTES - 1){1'b1}}, 1'b0} << tail);
    wire [`OLAF_BEAT_BYTES-1:0] keep = !r_update ? bypass_keep
                                     : r_last    ? tail_keep
                                     :             {`OLAF_BEAT_BYTES{1'b1}};
    wire [`OLAF_BEAT_BITS-1:0] data = r_update ? update_data : bypass_data;

    // The tuser is offered with a frame's first beat and stays until the next frame's.
    wire [`OLAF_TUSER_BITS-1:0] next_user = users[get];
    wire [`OLAF_BEAT_BITS-1:0]  next_data = beats[get];
    wire [`OLAF_BEAT_BYTES-1:0] next_keep = keeps[get];
    wire next_last, next_first, next_update;
    assign {next_last, next_first, next_update} = marks[get];
    always @(posedge clk) begin
        if (r_valid) begin
            beats[put] <= data;
            keeps[put] <= keep;
            marks[put] <= {r_last, r_first, r_update};
        end
        if (status_sampled) users[put] <= user;
        if (take) begin
            m_tdata <= next_data;
            m_tkeep <= next_keep;
            m_tlast <= next_last;
            wire_update <= next_update;
            if (next_first) m_tuser <= next_user;
        end
    end

    wire unused = meta[`OLAF_META_TRACKED];
endmodule
`default_nettype wire
