// The way out by itself, with anything to send, for olaflab/queue/formal.
`include "olaf_layout.vh"
`include "olaf_meta.vh"
`default_nettype none
module formal_top (
    input wire                        aclk,
    input wire                        update_issue,
    input wire                        update_first,
    input wire                        update_last,
    input wire [`OLAF_META_BITS-1:0]  update_meta,
    input wire [`OLAF_BEAT_BITS-1:0]  update_data,
    input wire                        bypass_issue,
    input wire                        bypass_first,
    input wire                        bypass_last,
    input wire [`OLAF_BEAT_BITS-1:0]  bypass_data,
    input wire [`OLAF_BEAT_BYTES-1:0] bypass_keep,
    input wire [`OLAF_TUSER_BITS-1:0] bypass_user,
    input wire [1:0]                  occupancy,
    input wire [15:0]                 active_clusters,
    input wire                        m_tready
);
    reg rst = 1'b1;
    always @(posedge aclk) rst <= 1'b0;

    wire [`OLAF_BEAT_BITS-1:0]  tdata;
    wire [`OLAF_BEAT_BYTES-1:0] tkeep;
    wire [`OLAF_TUSER_BITS-1:0] tuser;
    wire tlast, tvalid, free, sent_update, sent_bypass, idle;

    olaf_output #(.SLOTS(2), .SLOT_BITS(1)) out (
        .clk(aclk), .rst(rst), .free(free),
        .update_issue(update_issue), .update_first(update_first), .update_last(update_last),
        .update_meta(update_meta), .update_data(update_data),
        .bypass_issue(bypass_issue), .bypass_first(bypass_first), .bypass_last(bypass_last),
        .bypass_data(bypass_data), .bypass_keep(bypass_keep), .bypass_user(bypass_user),
        .occupancy(occupancy), .active_clusters(active_clusters),
        .m_tdata(tdata), .m_tkeep(tkeep), .m_tuser(tuser), .m_tlast(tlast), .m_tvalid(tvalid),
        .m_tready(m_tready), .sent_update(sent_update), .sent_bypass(sent_bypass), .idle(idle)
    );

    // What the queue keeps to: one beat a cycle, and only when it is free.
    always @* assume(!(update_issue && bypass_issue) && (free || !(update_issue || bypass_issue)));

    // AXI4-Stream: what is offered stays as it is until it is taken.
    reg waits = 1'b0;
    reg [`OLAF_BEAT_BITS+`OLAF_BEAT_BYTES+`OLAF_TUSER_BITS:0] offered;
    always @(posedge aclk) begin
        waits <= !rst && tvalid && !m_tready;
        offered <= {tdata, tkeep, tuser, tlast};
        if (waits) assert(tvalid && offered == {tdata, tkeep, tuser, tlast});
    end
endmodule
`default_nettype wire
