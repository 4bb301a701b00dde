// Generated from olafctl/targets/opennic/registers.py by `olaflab generate`: do not edit.
//
// The box's own registers: what it is, the port numbers, the staging of its tables, and its counters as of the
// last snapshot. An address without a register answers DECERR.
`default_nettype none
module olaf_box_registers #(
    parameter [31:0] BUILD_ID = 32'd0,
    parameter [31:0] PORTS = 32'd0,
    parameter [31:0] GROUPS = 32'd0,
    parameter [31:0] COPIES = 32'd0,
    parameter [31:0] MAX_BYTES = 32'd0
) (
    input  wire        clk,
    input  wire        rst,

    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output reg  [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output reg  [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    // Of each port: one element, the first port's lowest.
    output wire [255:0] port_number,
    output reg  [31:0] group_index,
    output reg  [31:0] group_first,
    output reg  [31:0] group_count,
    output reg  [31:0] copy_index,
    output reg  [31:0] copy_port,
    output reg  [31:0] copy_rewrite,
    output reg  [31:0] copy_mac_high,
    output reg  [31:0] copy_mac_low,
    output reg  [31:0] copy_addr,
    output reg  [31:0] copy_udp_port,

    output reg         write_group,
    output reg         write_copy,

    input  wire [7:0]  inc_in_port,
    input  wire [7:0]  inc_oversize_port,
    input  wire [7:0]  inc_malformed_port,
    input  wire [7:0]  inc_cut_port,
    input  wire [7:0]  inc_out_port,
    input  wire [7:0]  inc_stalled_port,
    input  wire        inc_in_host,
    input  wire        inc_oversize_host,
    input  wire        inc_malformed_host,
    input  wire        inc_cut_host,
    input  wire        inc_dropped_host,
    input  wire        inc_dropped_function,
    input  wire        inc_in_vnp4_1,
    input  wire        inc_out_vnp4_1,
    input  wire        inc_punted,
    input  wire        inc_dropped_punt,
    input  wire        inc_out_host,
    input  wire        inc_in_queue,
    input  wire        inc_in_vnp4_2,
    input  wire        inc_out_vnp4_2,
    input  wire        inc_oversize_out,
    input  wire        inc_malformed_out,
    input  wire        inc_copied,
    input  wire        inc_dropped_port,
    input  wire        inc_dropped_group,
    input  wire        inc_pruned
);
    localparam [1:0] OKAY = 2'b00, DECERR = 2'b11;

    reg [31:0] port_number_0, port_number_1, port_number_2, port_number_3, port_number_4, port_number_5, port_number_6, port_number_7;
    assign port_number = {port_number_7, port_number_6, port_number_5, port_number_4, port_number_3, port_number_2, port_number_1, port_number_0};
    wire inc_in_port_0 = inc_in_port[0];
    wire inc_in_port_1 = inc_in_port[1];
    wire inc_in_port_2 = inc_in_port[2];
    wire inc_in_port_3 = inc_in_port[3];
    wire inc_in_port_4 = inc_in_port[4];
    wire inc_in_port_5 = inc_in_port[5];
    wire inc_in_port_6 = inc_in_port[6];
    wire inc_in_port_7 = inc_in_port[7];
    wire inc_oversize_port_0 = inc_oversize_port[0];
    wire inc_oversize_port_1 = inc_oversize_port[1];
    wire inc_oversize_port_2 = inc_oversize_port[2];
    wire inc_oversize_port_3 = inc_oversize_port[3];
    wire inc_oversize_port_4 = inc_oversize_port[4];
    wire inc_oversize_port_5 = inc_oversize_port[5];
    wire inc_oversize_port_6 = inc_oversize_port[6];
    wire inc_oversize_port_7 = inc_oversize_port[7];
    wire inc_malformed_port_0 = inc_malformed_port[0];
    wire inc_malformed_port_1 = inc_malformed_port[1];
    wire inc_malformed_port_2 = inc_malformed_port[2];
    wire inc_malformed_port_3 = inc_malformed_port[3];
    wire inc_malformed_port_4 = inc_malformed_port[4];
    wire inc_malformed_port_5 = inc_malformed_port[5];
    wire inc_malformed_port_6 = inc_malformed_port[6];
    wire inc_malformed_port_7 = inc_malformed_port[7];
    wire inc_cut_port_0 = inc_cut_port[0];
    wire inc_cut_port_1 = inc_cut_port[1];
    wire inc_cut_port_2 = inc_cut_port[2];
    wire inc_cut_port_3 = inc_cut_port[3];
    wire inc_cut_port_4 = inc_cut_port[4];
    wire inc_cut_port_5 = inc_cut_port[5];
    wire inc_cut_port_6 = inc_cut_port[6];
    wire inc_cut_port_7 = inc_cut_port[7];
    wire inc_out_port_0 = inc_out_port[0];
    wire inc_out_port_1 = inc_out_port[1];
    wire inc_out_port_2 = inc_out_port[2];
    wire inc_out_port_3 = inc_out_port[3];
    wire inc_out_port_4 = inc_out_port[4];
    wire inc_out_port_5 = inc_out_port[5];
    wire inc_out_port_6 = inc_out_port[6];
    wire inc_out_port_7 = inc_out_port[7];
    wire inc_stalled_port_0 = inc_stalled_port[0];
    wire inc_stalled_port_1 = inc_stalled_port[1];
    wire inc_stalled_port_2 = inc_stalled_port[2];
    wire inc_stalled_port_3 = inc_stalled_port[3];
    wire inc_stalled_port_4 = inc_stalled_port[4];
    wire inc_stalled_port_5 = inc_stalled_port[5];
    wire inc_stalled_port_6 = inc_stalled_port[6];
    wire inc_stalled_port_7 = inc_stalled_port[7];

    // Writes: address and data are taken together.
    wire write = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_awready = write;
    assign s_axil_wready = write;
    reg clear, snapshot;

    always @(posedge clk)
        if (rst) begin
            s_axil_bvalid <= 1'b0;
            port_number_0 <= 32'd1;
            port_number_1 <= 32'd2;
            port_number_2 <= 32'd3;
            port_number_3 <= 32'd4;
            port_number_4 <= 32'd5;
            port_number_5 <= 32'd6;
            port_number_6 <= 32'd7;
            port_number_7 <= 32'd8;
            group_index <= 32'd0;
            group_first <= 32'd0;
            group_count <= 32'd0;
            copy_index <= 32'd0;
            copy_port <= 32'd0;
            copy_rewrite <= 32'd0;
            copy_mac_high <= 32'd0;
            copy_mac_low <= 32'd0;
            copy_addr <= 32'd0;
            copy_udp_port <= 32'd0;
            write_group <= 1'b0;
            write_copy <= 1'b0;
            clear <= 1'b0;
            snapshot <= 1'b0;
        end else begin
            if (write) s_axil_bvalid <= 1'b1;
            else if (s_axil_bready) s_axil_bvalid <= 1'b0;
            write_group <= write && s_axil_awaddr == 12'h0c0 && s_axil_wdata[0];
            write_copy <= write && s_axil_awaddr == 12'h0c4 && s_axil_wdata[0];
            clear <= write && s_axil_awaddr == 12'h0c8 && s_axil_wdata[0];
            snapshot <= write && s_axil_awaddr == 12'h0cc && s_axil_wdata[0];
            if (write) begin
                s_axil_bresp <= OKAY;
                case (s_axil_awaddr)
                    12'h040: port_number_0 <= s_axil_wdata;
                    12'h044: port_number_1 <= s_axil_wdata;
                    12'h048: port_number_2 <= s_axil_wdata;
                    12'h04c: port_number_3 <= s_axil_wdata;
                    12'h050: port_number_4 <= s_axil_wdata;
                    12'h054: port_number_5 <= s_axil_wdata;
                    12'h058: port_number_6 <= s_axil_wdata;
                    12'h05c: port_number_7 <= s_axil_wdata;
                    12'h060: group_index <= s_axil_wdata;
                    12'h064: group_first <= s_axil_wdata;
                    12'h068: group_count <= s_axil_wdata;
                    12'h06c: copy_index <= s_axil_wdata;
                    12'h070: copy_port <= s_axil_wdata;
                    12'h074: copy_rewrite <= s_axil_wdata;
                    12'h078: copy_mac_high <= s_axil_wdata;
                    12'h07c: copy_mac_low <= s_axil_wdata;
                    12'h080: copy_addr <= s_axil_wdata;
                    12'h084: copy_udp_port <= s_axil_wdata;
                    12'h0c0: ;
                    12'h0c4: ;
                    12'h0c8: ;
                    12'h0cc: ;
                    default: s_axil_bresp <= DECERR;
                endcase
            end
        end

    // Counters.
    reg [63:0] in_port_0, shown_in_port_0;
    reg [63:0] oversize_port_0, shown_oversize_port_0;
    reg [63:0] malformed_port_0, shown_malformed_port_0;
    reg [63:0] cut_port_0, shown_cut_port_0;
    reg [63:0] in_port_1, shown_in_port_1;
    reg [63:0] oversize_port_1, shown_oversize_port_1;
    reg [63:0] malformed_port_1, shown_malformed_port_1;
    reg [63:0] cut_port_1, shown_cut_port_1;
    reg [63:0] in_port_2, shown_in_port_2;
    reg [63:0] oversize_port_2, shown_oversize_port_2;
    reg [63:0] malformed_port_2, shown_malformed_port_2;
    reg [63:0] cut_port_2, shown_cut_port_2;
    reg [63:0] in_port_3, shown_in_port_3;
    reg [63:0] oversize_port_3, shown_oversize_port_3;
    reg [63:0] malformed_port_3, shown_malformed_port_3;
    reg [63:0] cut_port_3, shown_cut_port_3;
    reg [63:0] in_port_4, shown_in_port_4;
    reg [63:0] oversize_port_4, shown_oversize_port_4;
    reg [63:0] malformed_port_4, shown_malformed_port_4;
    reg [63:0] cut_port_4, shown_cut_port_4;
    reg [63:0] in_port_5, shown_in_port_5;
    reg [63:0] oversize_port_5, shown_oversize_port_5;
    reg [63:0] malformed_port_5, shown_malformed_port_5;
    reg [63:0] cut_port_5, shown_cut_port_5;
    reg [63:0] in_port_6, shown_in_port_6;
    reg [63:0] oversize_port_6, shown_oversize_port_6;
    reg [63:0] malformed_port_6, shown_malformed_port_6;
    reg [63:0] cut_port_6, shown_cut_port_6;
    reg [63:0] in_port_7, shown_in_port_7;
    reg [63:0] oversize_port_7, shown_oversize_port_7;
    reg [63:0] malformed_port_7, shown_malformed_port_7;
    reg [63:0] cut_port_7, shown_cut_port_7;
    reg [63:0] in_host, shown_in_host;
    reg [63:0] oversize_host, shown_oversize_host;
    reg [63:0] malformed_host, shown_malformed_host;
    reg [63:0] cut_host, shown_cut_host;
    reg [63:0] dropped_host, shown_dropped_host;
    reg [63:0] dropped_function, shown_dropped_function;
    reg [63:0] in_vnp4_1, shown_in_vnp4_1;
    reg [63:0] out_vnp4_1, shown_out_vnp4_1;
    reg [63:0] punted, shown_punted;
    reg [63:0] dropped_punt, shown_dropped_punt;
    reg [63:0] out_host, shown_out_host;
    reg [63:0] in_queue, shown_in_queue;
    reg [63:0] in_vnp4_2, shown_in_vnp4_2;
    reg [63:0] out_vnp4_2, shown_out_vnp4_2;
    reg [63:0] oversize_out, shown_oversize_out;
    reg [63:0] malformed_out, shown_malformed_out;
    reg [63:0] copied, shown_copied;
    reg [63:0] dropped_port, shown_dropped_port;
    reg [63:0] dropped_group, shown_dropped_group;
    reg [63:0] pruned, shown_pruned;
    reg [63:0] out_port_0, shown_out_port_0;
    reg [63:0] stalled_port_0, shown_stalled_port_0;
    reg [63:0] out_port_1, shown_out_port_1;
    reg [63:0] stalled_port_1, shown_stalled_port_1;
    reg [63:0] out_port_2, shown_out_port_2;
    reg [63:0] stalled_port_2, shown_stalled_port_2;
    reg [63:0] out_port_3, shown_out_port_3;
    reg [63:0] stalled_port_3, shown_stalled_port_3;
    reg [63:0] out_port_4, shown_out_port_4;
    reg [63:0] stalled_port_4, shown_stalled_port_4;
    reg [63:0] out_port_5, shown_out_port_5;
    reg [63:0] stalled_port_5, shown_stalled_port_5;
    reg [63:0] out_port_6, shown_out_port_6;
    reg [63:0] stalled_port_6, shown_stalled_port_6;
    reg [63:0] out_port_7, shown_out_port_7;
    reg [63:0] stalled_port_7, shown_stalled_port_7;
    always @(posedge clk)
        if (rst || clear) begin
            in_port_0 <= 64'd0;
            oversize_port_0 <= 64'd0;
            malformed_port_0 <= 64'd0;
            cut_port_0 <= 64'd0;
            in_port_1 <= 64'd0;
            oversize_port_1 <= 64'd0;
            malformed_port_1 <= 64'd0;
            cut_port_1 <= 64'd0;
            in_port_2 <= 64'd0;
            oversize_port_2 <= 64'd0;
            malformed_port_2 <= 64'd0;
            cut_port_2 <= 64'd0;
            in_port_3 <= 64'd0;
            oversize_port_3 <= 64'd0;
            malformed_port_3 <= 64'd0;
            cut_port_3 <= 64'd0;
            in_port_4 <= 64'd0;
            oversize_port_4 <= 64'd0;
            malformed_port_4 <= 64'd0;
            cut_port_4 <= 64'd0;
            in_port_5 <= 64'd0;
            oversize_port_5 <= 64'd0;
            malformed_port_5 <= 64'd0;
            cut_port_5 <= 64'd0;
            in_port_6 <= 64'd0;
            oversize_port_6 <= 64'd0;
            malformed_port_6 <= 64'd0;
            cut_port_6 <= 64'd0;
            in_port_7 <= 64'd0;
            oversize_port_7 <= 64'd0;
            malformed_port_7 <= 64'd0;
            cut_port_7 <= 64'd0;
            in_host <= 64'd0;
            oversize_host <= 64'd0;
            malformed_host <= 64'd0;
            cut_host <= 64'd0;
            dropped_host <= 64'd0;
            dropped_function <= 64'd0;
            in_vnp4_1 <= 64'd0;
            out_vnp4_1 <= 64'd0;
            punted <= 64'd0;
            dropped_punt <= 64'd0;
            out_host <= 64'd0;
            in_queue <= 64'd0;
            in_vnp4_2 <= 64'd0;
            out_vnp4_2 <= 64'd0;
            oversize_out <= 64'd0;
            malformed_out <= 64'd0;
            copied <= 64'd0;
            dropped_port <= 64'd0;
            dropped_group <= 64'd0;
            pruned <= 64'd0;
            out_port_0 <= 64'd0;
            stalled_port_0 <= 64'd0;
            out_port_1 <= 64'd0;
            stalled_port_1 <= 64'd0;
            out_port_2 <= 64'd0;
            stalled_port_2 <= 64'd0;
            out_port_3 <= 64'd0;
            stalled_port_3 <= 64'd0;
            out_port_4 <= 64'd0;
            stalled_port_4 <= 64'd0;
            out_port_5 <= 64'd0;
            stalled_port_5 <= 64'd0;
            out_port_6 <= 64'd0;
            stalled_port_6 <= 64'd0;
            out_port_7 <= 64'd0;
            stalled_port_7 <= 64'd0;
        end else begin
            if (inc_in_port_0) in_port_0 <= in_port_0 + 64'd1;
            if (inc_oversize_port_0) oversize_port_0 <= oversize_port_0 + 64'd1;
            if (inc_malformed_port_0) malformed_port_0 <= malformed_port_0 + 64'd1;
            if (inc_cut_port_0) cut_port_0 <= cut_port_0 + 64'd1;
            if (inc_in_port_1) in_port_1 <= in_port_1 + 64'd1;
            if (inc_oversize_port_1) oversize_port_1 <= oversize_port_1 + 64'd1;
            if (inc_malformed_port_1) malformed_port_1 <= malformed_port_1 + 64'd1;
            if (inc_cut_port_1) cut_port_1 <= cut_port_1 + 64'd1;
            if (inc_in_port_2) in_port_2 <= in_port_2 + 64'd1;
            if (inc_oversize_port_2) oversize_port_2 <= oversize_port_2 + 64'd1;
            if (inc_malformed_port_2) malformed_port_2 <= malformed_port_2 + 64'd1;
            if (inc_cut_port_2) cut_port_2 <= cut_port_2 + 64'd1;
            if (inc_in_port_3) in_port_3 <= in_port_3 + 64'd1;
            if (inc_oversize_port_3) oversize_port_3 <= oversize_port_3 + 64'd1;
            if (inc_malformed_port_3) malformed_port_3 <= malformed_port_3 + 64'd1;
            if (inc_cut_port_3) cut_port_3 <= cut_port_3 + 64'd1;
            if (inc_in_port_4) in_port_4 <= in_port_4 + 64'd1;
            if (inc_oversize_port_4) oversize_port_4 <= oversize_port_4 + 64'd1;
            if (inc_malformed_port_4) malformed_port_4 <= malformed_port_4 + 64'd1;
            if (inc_cut_port_4) cut_port_4 <= cut_port_4 + 64'd1;
            if (inc_in_port_5) in_port_5 <= in_port_5 + 64'd1;
            if (inc_oversize_port_5) oversize_port_5 <= oversize_port_5 + 64'd1;
            if (inc_malformed_port_5) malformed_port_5 <= malformed_port_5 + 64'd1;
            if (inc_cut_port_5) cut_port_5 <= cut_port_5 + 64'd1;
            if (inc_in_port_6) in_port_6 <= in_port_6 + 64'd1;
            if (inc_oversize_port_6) oversize_port_6 <= oversize_port_6 + 64'd1;
            if (inc_malformed_port_6) malformed_port_6 <= malformed_port_6 + 64'd1;
            if (inc_cut_port_6) cut_port_6 <= cut_port_6 + 64'd1;
            if (inc_in_port_7) in_port_7 <= in_port_7 + 64'd1;
            if (inc_oversize_port_7) oversize_port_7 <= oversize_port_7 + 64'd1;
            if (inc_malformed_port_7) malformed_port_7 <= malformed_port_7 + 64'd1;
            if (inc_cut_port_7) cut_port_7 <= cut_port_7 + 64'd1;
            if (inc_in_host) in_host <= in_host + 64'd1;
            if (inc_oversize_host) oversize_host <= oversize_host + 64'd1;
            if (inc_malformed_host) malformed_host <= malformed_host + 64'd1;
            if (inc_cut_host) cut_host <= cut_host + 64'd1;
            if (inc_dropped_host) dropped_host <= dropped_host + 64'd1;
            if (inc_dropped_function) dropped_function <= dropped_function + 64'd1;
            if (inc_in_vnp4_1) in_vnp4_1 <= in_vnp4_1 + 64'd1;
            if (inc_out_vnp4_1) out_vnp4_1 <= out_vnp4_1 + 64'd1;
            if (inc_punted) punted <= punted + 64'd1;
            if (inc_dropped_punt) dropped_punt <= dropped_punt + 64'd1;
            if (inc_out_host) out_host <= out_host + 64'd1;
            if (inc_in_queue) in_queue <= in_queue + 64'd1;
            if (inc_in_vnp4_2) in_vnp4_2 <= in_vnp4_2 + 64'd1;
            if (inc_out_vnp4_2) out_vnp4_2 <= out_vnp4_2 + 64'd1;
            if (inc_oversize_out) oversize_out <= oversize_out + 64'd1;
            if (inc_malformed_out) malformed_out <= malformed_out + 64'd1;
            if (inc_copied) copied <= copied + 64'd1;
            if (inc_dropped_port) dropped_port <= dropped_port + 64'd1;
            if (inc_dropped_group) dropped_group <= dropped_group + 64'd1;
            if (inc_pruned) pruned <= pruned + 64'd1;
            if (inc_out_port_0) out_port_0 <= out_port_0 + 64'd1;
            if (inc_stalled_port_0) stalled_port_0 <= stalled_port_0 + 64'd1;
            if (inc_out_port_1) out_port_1 <= out_port_1 + 64'd1;
            if (inc_stalled_port_1) stalled_port_1 <= stalled_port_1 + 64'd1;
            if (inc_out_port_2) out_port_2 <= out_port_2 + 64'd1;
            if (inc_stalled_port_2) stalled_port_2 <= stalled_port_2 + 64'd1;
            if (inc_out_port_3) out_port_3 <= out_port_3 + 64'd1;
            if (inc_stalled_port_3) stalled_port_3 <= stalled_port_3 + 64'd1;
            if (inc_out_port_4) out_port_4 <= out_port_4 + 64'd1;
            if (inc_stalled_port_4) stalled_port_4 <= stalled_port_4 + 64'd1;
            if (inc_out_port_5) out_port_5 <= out_port_5 + 64'd1;
            if (inc_stalled_port_5) stalled_port_5 <= stalled_port_5 + 64'd1;
            if (inc_out_port_6) out_port_6 <= out_port_6 + 64'd1;
            if (inc_stalled_port_6) stalled_port_6 <= stalled_port_6 + 64'd1;
            if (inc_out_port_7) out_port_7 <= out_port_7 + 64'd1;
            if (inc_stalled_port_7) stalled_port_7 <= stalled_port_7 + 64'd1;
        end
    always @(posedge clk)
        if (snapshot) begin
            shown_in_port_0 <= in_port_0;
            shown_oversize_port_0 <= oversize_port_0;
            shown_malformed_port_0 <= malformed_port_0;
            shown_cut_port_0 <= cut_port_0;
            shown_in_port_1 <= in_port_1;
            shown_oversize_port_1 <= oversize_port_1;
            shown_malformed_port_1 <= malformed_port_1;
            shown_cut_port_1 <= cut_port_1;
            shown_in_port_2 <= in_port_2;
            shown_oversize_port_2 <= oversize_port_2;
            shown_malformed_port_2 <= malformed_port_2;
            shown_cut_port_2 <= cut_port_2;
            shown_in_port_3 <= in_port_3;
            shown_oversize_port_3 <= oversize_port_3;
            shown_malformed_port_3 <= malformed_port_3;
            shown_cut_port_3 <= cut_port_3;
            shown_in_port_4 <= in_port_4;
            shown_oversize_port_4 <= oversize_port_4;
            shown_malformed_port_4 <= malformed_port_4;
            shown_cut_port_4 <= cut_port_4;
            shown_in_port_5 <= in_port_5;
            shown_oversize_port_5 <= oversize_port_5;
            shown_malformed_port_5 <= malformed_port_5;
            shown_cut_port_5 <= cut_port_5;
            shown_in_port_6 <= in_port_6;
            shown_oversize_port_6 <= oversize_port_6;
            shown_malformed_port_6 <= malformed_port_6;
            shown_cut_port_6 <= cut_port_6;
            shown_in_port_7 <= in_port_7;
            shown_oversize_port_7 <= oversize_port_7;
            shown_malformed_port_7 <= malformed_port_7;
            shown_cut_port_7 <= cut_port_7;
            shown_in_host <= in_host;
            shown_oversize_host <= oversize_host;
            shown_malformed_host <= malformed_host;
            shown_cut_host <= cut_host;
            shown_dropped_host <= dropped_host;
            shown_dropped_function <= dropped_function;
            shown_in_vnp4_1 <= in_vnp4_1;
            shown_out_vnp4_1 <= out_vnp4_1;
            shown_punted <= punted;
            shown_dropped_punt <= dropped_punt;
            shown_out_host <= out_host;
            shown_in_queue <= in_queue;
            shown_in_vnp4_2 <= in_vnp4_2;
            shown_out_vnp4_2 <= out_vnp4_2;
            shown_oversize_out <= oversize_out;
            shown_malformed_out <= malformed_out;
            shown_copied <= copied;
            shown_dropped_port <= dropped_port;
            shown_dropped_group <= dropped_group;
            shown_pruned <= pruned;
            shown_out_port_0 <= out_port_0;
            shown_stalled_port_0 <= stalled_port_0;
            shown_out_port_1 <= out_port_1;
            shown_stalled_port_1 <= stalled_port_1;
            shown_out_port_2 <= out_port_2;
            shown_stalled_port_2 <= stalled_port_2;
            shown_out_port_3 <= out_port_3;
            shown_stalled_port_3 <= stalled_port_3;
            shown_out_port_4 <= out_port_4;
            shown_stalled_port_4 <= stalled_port_4;
            shown_out_port_5 <= out_port_5;
            shown_stalled_port_5 <= stalled_port_5;
            shown_out_port_6 <= out_port_6;
            shown_stalled_port_6 <= stalled_port_6;
            shown_out_port_7 <= out_port_7;
            shown_stalled_port_7 <= stalled_port_7;
        end

    // Reads: the word is chosen in a cycle of its own.
    reg [11:0] address;
    reg        reading;
    assign s_axil_arready = !reading && !s_axil_rvalid;
    always @(posedge clk)
        if (rst) begin
            reading <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end else begin
            reading <= s_axil_arvalid && s_axil_arready;
            if (reading) s_axil_rvalid <= 1'b1;
            else if (s_axil_rready) s_axil_rvalid <= 1'b0;
        end
    always @(posedge clk) begin
        if (s_axil_arready) address <= s_axil_araddr;
        if (reading) begin
            s_axil_rresp <= OKAY;
            case (address)
                12'h008: s_axil_rdata <= BUILD_ID;
                12'h00c: s_axil_rdata <= PORTS;
                12'h010: s_axil_rdata <= GROUPS;
                12'h014: s_axil_rdata <= COPIES;
                12'h018: s_axil_rdata <= MAX_BYTES;
                12'h000: s_axil_rdata <= 32'd1329745752;
                12'h004: s_axil_rdata <= 32'd2;
                12'h01c: s_axil_rdata <= 32'd250000000;
                12'h040: s_axil_rdata <= port_number_0;
                12'h044: s_axil_rdata <= port_number_1;
                12'h048: s_axil_rdata <= port_number_2;
                12'h04c: s_axil_rdata <= port_number_3;
                12'h050: s_axil_rdata <= port_number_4;
                12'h054: s_axil_rdata <= port_number_5;
                12'h058: s_axil_rdata <= port_number_6;
                12'h05c: s_axil_rdata <= port_number_7;
                12'h060: s_axil_rdata <= group_index;
                12'h064: s_axil_rdata <= group_first;
                12'h068: s_axil_rdata <= group_count;
                12'h06c: s_axil_rdata <= copy_index;
                12'h070: s_axil_rdata <= copy_port;
                12'h074: s_axil_rdata <= copy_rewrite;
                12'h078: s_axil_rdata <= copy_mac_high;
                12'h07c: s_axil_rdata <= copy_mac_low;
                12'h080: s_axil_rdata <= copy_addr;
                12'h084: s_axil_rdata <= copy_udp_port;
                12'h0c0: s_axil_rdata <= 32'd0;
                12'h0c4: s_axil_rdata <= 32'd0;
                12'h0c8: s_axil_rdata <= 32'd0;
                12'h0cc: s_axil_rdata <= 32'd0;
                12'h100: s_axil_rdata <= shown_in_port_0[31:0];
                12'h104: s_axil_rdata <= shown_in_port_0[63:32];
                12'h108: s_axil_rdata <= shown_oversize_port_0[31:0];
                12'h10c: s_axil_rdata <= shown_oversize_port_0[63:32];
                12'h110: s_axil_rdata <= shown_malformed_port_0[31:0];
                12'h114: s_axil_rdata <= shown_malformed_port_0[63:32];
                12'h118: s_axil_rdata <= shown_cut_port_0[31:0];
                12'h11c: s_axil_rdata <= shown_cut_port_0[63:32];
                12'h120: s_axil_rdata <= shown_in_port_1[31:0];
                12'h124: s_axil_rdata <= shown_in_port_1[63:32];
                12'h128: s_axil_rdata <= shown_oversize_port_1[31:0];
                12'h12c: s_axil_rdata <= shown_oversize_port_1[63:32];
                12'h130: s_axil_rdata <= shown_malformed_port_1[31:0];
                12'h134: s_axil_rdata <= shown_malformed_port_1[63:32];
                12'h138: s_axil_rdata <= shown_cut_port_1[31:0];
                12'h13c: s_axil_rdata <= shown_cut_port_1[63:32];
                12'h140: s_axil_rdata <= shown_in_port_2[31:0];
                12'h144: s_axil_rdata <= shown_in_port_2[63:32];
                12'h148: s_axil_rdata <= shown_oversize_port_2[31:0];
                12'h14c: s_axil_rdata <= shown_oversize_port_2[63:32];
                12'h150: s_axil_rdata <= shown_malformed_port_2[31:0];
                12'h154: s_axil_rdata <= shown_malformed_port_2[63:32];
                12'h158: s_axil_rdata <= shown_cut_port_2[31:0];
                12'h15c: s_axil_rdata <= shown_cut_port_2[63:32];
                12'h160: s_axil_rdata <= shown_in_port_3[31:0];
                12'h164: s_axil_rdata <= shown_in_port_3[63:32];
                12'h168: s_axil_rdata <= shown_oversize_port_3[31:0];
                12'h16c: s_axil_rdata <= shown_oversize_port_3[63:32];
                12'h170: s_axil_rdata <= shown_malformed_port_3[31:0];
                12'h174: s_axil_rdata <= shown_malformed_port_3[63:32];
                12'h178: s_axil_rdata <= shown_cut_port_3[31:0];
                12'h17c: s_axil_rdata <= shown_cut_port_3[63:32];
                12'h180: s_axil_rdata <= shown_in_port_4[31:0];
                12'h184: s_axil_rdata <= shown_in_port_4[63:32];
                12'h188: s_axil_rdata <= shown_oversize_port_4[31:0];
                12'h18c: s_axil_rdata <= shown_oversize_port_4[63:32];
                12'h190: s_axil_rdata <= shown_malformed_port_4[31:0];
                12'h194: s_axil_rdata <= shown_malformed_port_4[63:32];
                12'h198: s_axil_rdata <= shown_cut_port_4[31:0];
                12'h19c: s_axil_rdata <= shown_cut_port_4[63:32];
                12'h1a0: s_axil_rdata <= shown_in_port_5[31:0];
                12'h1a4: s_axil_rdata <= shown_in_port_5[63:32];
                12'h1a8: s_axil_rdata <= shown_oversize_port_5[31:0];
                12'h1ac: s_axil_rdata <= shown_oversize_port_5[63:32];
                12'h1b0: s_axil_rdata <= shown_malformed_port_5[31:0];
                12'h1b4: s_axil_rdata <= shown_malformed_port_5[63:32];
                12'h1b8: s_axil_rdata <= shown_cut_port_5[31:0];
                12'h1bc: s_axil_rdata <= shown_cut_port_5[63:32];
                12'h1c0: s_axil_rdata <= shown_in_port_6[31:0];
                12'h1c4: s_axil_rdata <= shown_in_port_6[63:32];
                12'h1c8: s_axil_rdata <= shown_oversize_port_6[31:0];
                12'h1cc: s_axil_rdata <= shown_oversize_port_6[63:32];
                12'h1d0: s_axil_rdata <= shown_malformed_port_6[31:0];
                12'h1d4: s_axil_rdata <= shown_malformed_port_6[63:32];
                12'h1d8: s_axil_rdata <= shown_cut_port_6[31:0];
                12'h1dc: s_axil_rdata <= shown_cut_port_6[63:32];
                12'h1e0: s_axil_rdata <= shown_in_port_7[31:0];
                12'h1e4: s_axil_rdata <= shown_in_port_7[63:32];
                12'h1e8: s_axil_rdata <= shown_oversize_port_7[31:0];
                12'h1ec: s_axil_rdata <= shown_oversize_port_7[63:32];
                12'h1f0: s_axil_rdata <= shown_malformed_port_7[31:0];
                12'h1f4: s_axil_rdata <= shown_malformed_port_7[63:32];
                12'h1f8: s_axil_rdata <= shown_cut_port_7[31:0];
                12'h1fc: s_axil_rdata <= shown_cut_port_7[63:32];
                12'h200: s_axil_rdata <= shown_in_host[31:0];
                12'h204: s_axil_rdata <= shown_in_host[63:32];
                12'h208: s_axil_rdata <= shown_oversize_host[31:0];
                12'h20c: s_axil_rdata <= shown_oversize_host[63:32];
                12'h210: s_axil_rdata <= shown_malformed_host[31:0];
                12'h214: s_axil_rdata <= shown_malformed_host[63:32];
                12'h218: s_axil_rdata <= shown_cut_host[31:0];
                12'h21c: s_axil_rdata <= shown_cut_host[63:32];
                12'h220: s_axil_rdata <= shown_dropped_host[31:0];
                12'h224: s_axil_rdata <= shown_dropped_host[63:32];
                12'h228: s_axil_rdata <= shown_dropped_function[31:0];
                12'h22c: s_axil_rdata <= shown_dropped_function[63:32];
                12'h230: s_axil_rdata <= shown_in_vnp4_1[31:0];
                12'h234: s_axil_rdata <= shown_in_vnp4_1[63:32];
                12'h238: s_axil_rdata <= shown_out_vnp4_1[31:0];
                12'h23c: s_axil_rdata <= shown_out_vnp4_1[63:32];
                12'h240: s_axil_rdata <= shown_punted[31:0];
                12'h244: s_axil_rdata <= shown_punted[63:32];
                12'h248: s_axil_rdata <= shown_dropped_punt[31:0];
                12'h24c: s_axil_rdata <= shown_dropped_punt[63:32];
                12'h250: s_axil_rdata <= shown_out_host[31:0];
                12'h254: s_axil_rdata <= shown_out_host[63:32];
                12'h258: s_axil_rdata <= shown_in_queue[31:0];
                12'h25c: s_axil_rdata <= shown_in_queue[63:32];
                12'h260: s_axil_rdata <= shown_in_vnp4_2[31:0];
                12'h264: s_axil_rdata <= shown_in_vnp4_2[63:32];
                12'h268: s_axil_rdata <= shown_out_vnp4_2[31:0];
                12'h26c: s_axil_rdata <= shown_out_vnp4_2[63:32];
                12'h270: s_axil_rdata <= shown_oversize_out[31:0];
                12'h274: s_axil_rdata <= shown_oversize_out[63:32];
                12'h278: s_axil_rdata <= shown_malformed_out[31:0];
                12'h27c: s_axil_rdata <= shown_malformed_out[63:32];
                12'h280: s_axil_rdata <= shown_copied[31:0];
                12'h284: s_axil_rdata <= shown_copied[63:32];
                12'h288: s_axil_rdata <= shown_dropped_port[31:0];
                12'h28c: s_axil_rdata <= shown_dropped_port[63:32];
                12'h290: s_axil_rdata <= shown_dropped_group[31:0];
                12'h294: s_axil_rdata <= shown_dropped_group[63:32];
                12'h298: s_axil_rdata <= shown_pruned[31:0];
                12'h29c: s_axil_rdata <= shown_pruned[63:32];
                12'h2a0: s_axil_rdata <= shown_out_port_0[31:0];
                12'h2a4: s_axil_rdata <= shown_out_port_0[63:32];
                12'h2a8: s_axil_rdata <= shown_stalled_port_0[31:0];
                12'h2ac: s_axil_rdata <= shown_stalled_port_0[63:32];
                12'h2b0: s_axil_rdata <= shown_out_port_1[31:0];
                12'h2b4: s_axil_rdata <= shown_out_port_1[63:32];
                12'h2b8: s_axil_rdata <= shown_stalled_port_1[31:0];
                12'h2bc: s_axil_rdata <= shown_stalled_port_1[63:32];
                12'h2c0: s_axil_rdata <= shown_out_port_2[31:0];
                12'h2c4: s_axil_rdata <= shown_out_port_2[63:32];
                12'h2c8: s_axil_rdata <= shown_stalled_port_2[31:0];
                12'h2cc: s_axil_rdata <= shown_stalled_port_2[63:32];
                12'h2d0: s_axil_rdata <= shown_out_port_3[31:0];
                12'h2d4: s_axil_rdata <= shown_out_port_3[63:32];
                12'h2d8: s_axil_rdata <= shown_stalled_port_3[31:0];
                12'h2dc: s_axil_rdata <= shown_stalled_port_3[63:32];
                12'h2e0: s_axil_rdata <= shown_out_port_4[31:0];
                12'h2e4: s_axil_rdata <= shown_out_port_4[63:32];
                12'h2e8: s_axil_rdata <= shown_stalled_port_4[31:0];
                12'h2ec: s_axil_rdata <= shown_stalled_port_4[63:32];
                12'h2f0: s_axil_rdata <= shown_out_port_5[31:0];
                12'h2f4: s_axil_rdata <= shown_out_port_5[63:32];
                12'h2f8: s_axil_rdata <= shown_stalled_port_5[31:0];
                12'h2fc: s_axil_rdata <= shown_stalled_port_5[63:32];
                12'h300: s_axil_rdata <= shown_out_port_6[31:0];
                12'h304: s_axil_rdata <= shown_out_port_6[63:32];
                12'h308: s_axil_rdata <= shown_stalled_port_6[31:0];
                12'h30c: s_axil_rdata <= shown_stalled_port_6[63:32];
                12'h310: s_axil_rdata <= shown_out_port_7[31:0];
                12'h314: s_axil_rdata <= shown_out_port_7[63:32];
                12'h318: s_axil_rdata <= shown_stalled_port_7[31:0];
                12'h31c: s_axil_rdata <= shown_stalled_port_7[63:32];
                default: begin
                    s_axil_rdata <= 32'hffffffff;
                    s_axil_rresp <= DECERR;
                end
            endcase
        end
    end
endmodule
`default_nettype wire
