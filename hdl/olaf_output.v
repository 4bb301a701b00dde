// The way out: puts the queue's and the bypass' beats on the wire, with the queue's status as it is when
// a frame's first beat is put there.
`default_nettype none
`include "olaf_layout.vh"
`include "olaf_meta.vh"
module olaf_output #(
    parameter SLOTS = 8,
    parameter PLACE_BITS = 3
) (
    input  wire         clk,
    input  wire         rst,
    output wire         free,            // a beat may be issued

    input  wire         update_issue,    // its data follow a cycle later
    input  wire         update_first,
    input  wire         update_last,
    input  wire [`OLAF_META_BITS-1:0] update_meta,
    input  wire [511:0] update_data,

    input  wire         bypass_issue,
    input  wire         bypass_first,
    input  wire         bypass_last,
    input  wire [511:0] bypass_data,
    input  wire [63:0]  bypass_keep,
    input  wire [`OLAF_TUSER_BITS-1:0] bypass_user,

    input  wire [PLACE_BITS:0] occupancy,
    input  wire [15:0]  active_clusters,

    output reg  [511:0] m_tdata,
    output reg  [63:0]  m_tkeep,
    output reg  [`OLAF_TUSER_BITS-1:0] m_tuser,
    output reg          m_tlast,
    output reg          m_tvalid,
    input  wire         m_tready,
    output wire         sent_update,     // a frame's last beat has left
    output wire         sent_bypass,
    output wire         idle
);
    localparam [PLACE_BITS:0] FULL = SLOTS[PLACE_BITS:0];

    reg read_valid, read_update, read_first, read_last;
    reg [`OLAF_META_BITS-1:0] meta;
    reg wire_update;

    assign free = !m_tvalid || m_tready;
    assign idle = !read_valid && !m_tvalid;
    assign sent_update = m_tvalid && m_tready && m_tlast && wire_update;
    assign sent_bypass = m_tvalid && m_tready && m_tlast && !wire_update;

    wire [5:0]  tail = meta[5:0] - 6'd1;
    wire [63:0] tail_keep = ~(64'hfffffffffffffffe << tail);
    wire [23:0] updates = {{(23 - PLACE_BITS){1'b0}}, occupancy};
    wire [7:0]  flags = {6'd0, {16'd0, active_clusters} > SLOTS, occupancy == FULL};
    wire        status_sampled /* verilator public_flat_rd */;
    assign status_sampled = free && read_valid && read_first;

    always @(posedge clk)
        if (rst) begin
            read_valid <= 1'b0;
            m_tvalid <= 1'b0;
        end else if (free) begin
            read_valid <= update_issue || bypass_issue;
            m_tvalid <= read_valid;
        end

    always @(posedge clk)
        if (free) begin
            read_update <= update_issue;
            read_first <= update_issue ? update_first : bypass_first;
            read_last <= update_issue ? update_last : bypass_last;
            if (update_issue && update_first) meta <= update_meta;
            if (read_valid) begin
                wire_update <= read_update;
                m_tdata <= read_update ? update_data : bypass_data;
                m_tkeep <= !read_update ? bypass_keep : read_last ? tail_keep : {64{1'b1}};
                m_tlast <= read_last;
                if (read_first) begin
                    m_tuser <= bypass_user;
                    if (read_update) begin
                        m_tuser[`OLAF_TUSER_SIZE] <= meta[`OLAF_META_SIZE];
                        m_tuser[`OLAF_TUSER_SRC] <= meta[`OLAF_META_SRC];
                        m_tuser[`OLAF_TUSER_DST] <= meta[`OLAF_META_DST];
                        m_tuser[`OLAF_TUSER_KIND] <= `OLAF_KIND_UPDATE;
                        m_tuser[`OLAF_TUSER_CLUSTER] <= meta[`OLAF_META_CLUSTER];
                        m_tuser[`OLAF_TUSER_WORKER] <= meta[`OLAF_META_WORKER];
                    end
                    m_tuser[`OLAF_TUSER_OCCUPANCY] <= updates;
                    m_tuser[`OLAF_TUSER_ACTIVE_CLUSTERS] <= active_clusters;
                    m_tuser[`OLAF_TUSER_SLOTS] <= SLOTS[15:0];
                    m_tuser[`OLAF_TUSER_STATUS_FLAGS] <= flags;
                end
            end
        end

    wire unused = meta[`OLAF_META_TRACKED];
endmodule
`default_nettype wire
