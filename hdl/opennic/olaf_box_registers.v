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
    input  wire [7:0]  inc_full_port,
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
                    12'h0c0, 12'h0c4, 12'h0c8, 12'h0cc: ;
                    default: s_axil_bresp <= DECERR;
                endcase
            end
        end

    wire [4863:0] now, shown;
    olaf_counters #(.COUNT(76)) counters (
        .clk(clk), .rst(rst), .clear(clear), .cleared(4864'd0), .snapshot(snapshot), .now(now), .shown(shown),
        .count({ // the last one on top
            inc_full_port[7], inc_stalled_port[7], inc_out_port[7], inc_full_port[6], inc_stalled_port[6],
            inc_out_port[6], inc_full_port[5], inc_stalled_port[5], inc_out_port[5], inc_full_port[4],
            inc_stalled_port[4], inc_out_port[4], inc_full_port[3], inc_stalled_port[3], inc_out_port[3],
            inc_full_port[2], inc_stalled_port[2], inc_out_port[2], inc_full_port[1], inc_stalled_port[1],
            inc_out_port[1], inc_full_port[0], inc_stalled_port[0], inc_out_port[0], inc_pruned,
            inc_dropped_group, inc_dropped_port, inc_copied, inc_malformed_out, inc_oversize_out,
            inc_out_vnp4_2, inc_in_vnp4_2, inc_in_queue, inc_out_host, inc_dropped_punt, inc_punted,
            inc_out_vnp4_1, inc_in_vnp4_1, inc_dropped_function, inc_dropped_host, inc_cut_host,
            inc_malformed_host, inc_oversize_host, inc_in_host, inc_cut_port[7], inc_malformed_port[7],
            inc_oversize_port[7], inc_in_port[7], inc_cut_port[6], inc_malformed_port[6], inc_oversize_port[6],
            inc_in_port[6], inc_cut_port[5], inc_malformed_port[5], inc_oversize_port[5], inc_in_port[5],
            inc_cut_port[4], inc_malformed_port[4], inc_oversize_port[4], inc_in_port[4], inc_cut_port[3],
            inc_malformed_port[3], inc_oversize_port[3], inc_in_port[3], inc_cut_port[2], inc_malformed_port[2],
            inc_oversize_port[2], inc_in_port[2], inc_cut_port[1], inc_malformed_port[1], inc_oversize_port[1],
            inc_in_port[1], inc_cut_port[0], inc_malformed_port[0], inc_oversize_port[0], inc_in_port[0]
        })
    );
    wire unused = &{1'b0, now};

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
                12'h004: s_axil_rdata <= 32'd3;
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
                12'h0c0, 12'h0c4, 12'h0c8, 12'h0cc: s_axil_rdata <= 32'd0;
                default:
                    if (address[1:0] == 2'd0 && address >= 12'h100 && address <= 12'h35c)
                        s_axil_rdata <= shown[32*((address - 12'h100) >> 2) +: 32];
                    else begin
                        s_axil_rdata <= 32'hffffffff;
                        s_axil_rresp <= DECERR;
                    end
            endcase
        end
    end
endmodule
`default_nettype wire
