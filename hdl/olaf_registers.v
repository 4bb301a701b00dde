// Generated from olafctl/queue/registers.py by `olaflab generate`: do not edit.
//
// The AXI4-Lite registers: settings, and status and counters as of the last snapshot.
`default_nettype none
module olaf_registers #(
    parameter INDICES = 0,  // indices (cluster segments) tracked; an update of another is dropped
    parameter SLOTS = 0,  // Q_max: updates the queue holds
    parameter BEATS = 0,  // 64-byte beats a slot holds
    parameter ADDER_LATENCY = 0,  // cycles through an adder
    parameter MEMBERS = 0,  // members of a cluster that an iSwitch sum tells apart
    parameter ACCUMULATE_QUOTA = 0  // its value after reset
) (
    input  wire        clk,
    input  wire        rst,          // of the port and the settings
    input  wire        queue_rst,    // of the counters

    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
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
    output reg  [31:0] range_first,
    output reg  [31:0] range_last,
    output reg  [31:0] set_mode,
    output reg  [31:0] rate,
    output reg  [31:0] hold,
    output reg  [31:0] active_window,
    output reg  [31:0] accumulate_quota,
    output reg  [31:0] set_threshold,
    output reg  [31:0] set_reward_enable,
    output reg  [31:0] set_reward_threshold,
    output reg  [31:0] set_stale_enable,
    output reg  [31:0] set_stale_bound,
    output reg  [31:0] stale_shifts_low,
    output reg  [31:0] stale_shifts_high,
    output wire        do_command,     // the code, with a write of it
    output wire [7:0]  command,

    input  wire [31:0] command_busy,
    input  wire [31:0] command_error,
    input  wire [31:0] get_mode,
    input  wire [31:0] get_threshold,
    input  wire [31:0] get_reward_enable,
    input  wire [31:0] get_reward_threshold,
    input  wire [31:0] get_state,
    input  wire [31:0] get_round,
    input  wire [31:0] get_count,
    input  wire [31:0] get_members_low,
    input  wire [31:0] get_members_high,
    input  wire [31:0] get_stale_enable,
    input  wire [31:0] get_stale_bound,
    input  wire [31:0] get_newest,
    input  wire [31:0] occupancy,
    input  wire [31:0] active_clusters,
    input  wire [31:0] accumulating,
    input  wire        bypass_accepted,
    input  wire        inc_in_updates,
    input  wire        inc_out_updates,
    input  wire        inc_in_bypass,
    input  wire        inc_out_bypass,
    input  wire        inc_appended,
    input  wire        inc_merged,
    input  wire        inc_replaced_worker,
    input  wire        inc_replaced_reward,
    input  wire        inc_dropped_full,
    input  wire        inc_dropped_reward,
    input  wire        inc_dropped_mismatch,
    input  wire        inc_dropped_header,
    input  wire        inc_dropped_length,
    input  wire        inc_dropped_oversize,
    input  wire        inc_dropped_index,
    input  wire        inc_dropped_truncated,
    input  wire        inc_dropped_overlong,
    input  wire        inc_dropped_bypass,
    input  wire        inc_locked_appends,
    input  wire        inc_saturations,
    input  wire        inc_cut_through,
    input  wire        inc_repaired,
    input  wire        inc_input_stalls,
    input  wire        inc_input_beats,
    input  wire        inc_output_beats,
    input  wire        inc_dropped_halted,
    input  wire        inc_dropped_member,
    input  wire        inc_dropped_duplicate,
    input  wire        inc_dropped_late,
    input  wire        inc_dropped_quota,
    input  wire        inc_dropped_superseded,
    input  wire        inc_dropped_reset,
    input  wire        inc_forced,
    input  wire        inc_dropped_stale,
    output wire [63:0] now
);
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

    localparam COUNTERS = 34;
    // Places of those that are used here.
    localparam integer IN_UPDATES = 0, OUT_UPDATES = 1, IN_BYPASS = 2, OUT_BYPASS = 3, APPENDED = 4, DROPPED_BYPASS = 17, DROPPED_RESET = 31;

    reg [63:0] cycle /* verilator public_flat_rw */;
    reg [63:0] shown_cycle;
    reg [31:0] shown_occupancy;
    reg [31:0] shown_active_clusters;
    reg [31:0] shown_resident_updates;
    reg [31:0] shown_resident_bypass;
    reg [31:0] shown_accumulating;

    wire [64*COUNTERS-1:0] counters, shown;
    wire [64*COUNTERS+63:0] words = {shown, shown_cycle};

    assign now = cycle;

    // What is counted is counted a cycle after it happened: all alike, so that the counters agree. In the last
    // cycle of queue_rst nothing happens.
    reg                was_bypass_accepted;
    reg [COUNTERS-1:0] was;
    always @(posedge clk) begin
        was_bypass_accepted <= bypass_accepted;
        was <= { // the last one on top
            inc_dropped_stale, inc_forced, inc_dropped_reset, inc_dropped_superseded, inc_dropped_quota,
            inc_dropped_late, inc_dropped_duplicate, inc_dropped_member, inc_dropped_halted, inc_output_beats,
            inc_input_beats, inc_input_stalls, inc_repaired, inc_cut_through, inc_saturations,
            inc_locked_appends, inc_dropped_bypass, inc_dropped_overlong, inc_dropped_truncated,
            inc_dropped_index, inc_dropped_oversize, inc_dropped_length, inc_dropped_header,
            inc_dropped_mismatch, inc_dropped_reward, inc_dropped_full, inc_replaced_reward,
            inc_replaced_worker, inc_merged, inc_appended, inc_out_bypass, inc_in_bypass, inc_out_updates,
            inc_in_updates
        };
    end

    // Frames that came in and have not wholly left.
    reg  [31:0] resident_updates, resident_bypass;
    wire [31:0] resident_updates_next = resident_updates + {31'd0, was[APPENDED]} - {31'd0, was[OUT_UPDATES]}
                                      - {31'd0, was[DROPPED_RESET]};
    wire [31:0] resident_bypass_next = resident_bypass + {31'd0, was_bypass_accepted}
                                     - {31'd0, was[OUT_BYPASS]};
    always @(posedge clk)
        if (queue_rst) begin
            resident_updates <= 32'd0;
            resident_bypass <= 32'd0;
        end else begin
            resident_updates <= resident_updates_next;
            resident_bypass <= resident_bypass_next;
        end

    // Writes: address and data are taken together.
    reg  written;
    // The lowest bits of an address say which bytes are meant, as wstrb does; one below them is an error.
    wire below = |(s_axil_wstrb & ~(4'hf << s_axil_awaddr[1:0]));
    wire [11:0] write_addr = {s_axil_awaddr[11:2], 1'b0, below};
    wire [11:0] read_addr = {s_axil_araddr[11:2], 2'd0};
    wire write = s_axil_awvalid && s_axil_wvalid && !written && !s_axil_bvalid;
    wire [31:0] mask = {{8{s_axil_wstrb[3]}}, {8{s_axil_wstrb[2]}}, {8{s_axil_wstrb[1]}}, {8{s_axil_wstrb[0]}}};
    assign s_axil_awready = write;
    assign s_axil_wready = write;
    assign do_command = write && write_addr == 12'h070 && s_axil_wstrb[0];
    assign command = s_axil_wdata[7:0] & {8{~|(s_axil_wdata[31:8] & mask[31:8])}};   // with more bits it is none
    wire do_clear = write && write_addr == 12'h058 && s_axil_wstrb[0] && s_axil_wdata[0];
    wire do_snapshot = write && write_addr == 12'h05c && s_axil_wstrb[0] && s_axil_wdata[0];

    always @(posedge clk)
        if (rst) begin
            written <= 1'b0;
            s_axil_bvalid <= 1'b0;
            range_first <= 32'd0;
            range_last <= 32'd0;
            set_mode <= 32'd0;
            rate <= 32'd0;
            hold <= 32'd0;
            active_window <= 32'd250000;
            accumulate_quota <= ACCUMULATE_QUOTA;
            set_threshold <= 32'd1;
            set_reward_enable <= 32'd0;
            set_reward_threshold <= 32'd0;
            set_stale_enable <= 32'd0;
            set_stale_bound <= 32'd0;
            stale_shifts_low <= 32'd0;
            stale_shifts_high <= 32'd0;
        end else begin
            written <= write;
            if (written) s_axil_bvalid <= 1'b1;
            else if (s_axil_bready) s_axil_bvalid <= 1'b0;
            if (write) begin
                s_axil_bresp <= OKAY;
                case (write_addr)
                    12'h040: range_first <= (range_first & ~mask) | (s_axil_wdata & mask);
                    12'h044: range_last <= (range_last & ~mask) | (s_axil_wdata & mask);
                    12'h048: set_mode <= (set_mode & ~mask) | (s_axil_wdata & mask);
                    12'h04c: rate <= (rate & ~mask) | (s_axil_wdata & mask);
                    12'h050: hold <= (hold & ~mask) | (s_axil_wdata & mask);
                    12'h054: active_window <= (active_window & ~mask) | (s_axil_wdata & mask);
                    12'h060: accumulate_quota <= (accumulate_quota & ~mask) | (s_axil_wdata & mask);
                    12'h064: set_threshold <= (set_threshold & ~mask) | (s_axil_wdata & mask);
                    12'h068: set_reward_enable <= (set_reward_enable & ~mask) | (s_axil_wdata & mask);
                    12'h06c: set_reward_threshold <= (set_reward_threshold & ~mask) | (s_axil_wdata & mask);
                    12'h074: set_stale_enable <= (set_stale_enable & ~mask) | (s_axil_wdata & mask);
                    12'h078: set_stale_bound <= (set_stale_bound & ~mask) | (s_axil_wdata & mask);
                    12'h024: stale_shifts_low <= (stale_shifts_low & ~mask) | (s_axil_wdata & mask);
                    12'h028: stale_shifts_high <= (stale_shifts_high & ~mask) | (s_axil_wdata & mask);
                    12'h058, 12'h05c, 12'h070: ;
                    default: s_axil_bresp <= SLVERR;
                endcase
            end
        end

    wire unused = &{1'b0, s_axil_araddr[1:0]};

    // Reads.
    assign s_axil_arready = !s_axil_rvalid;
    always @(posedge clk)
        if (rst) s_axil_rvalid <= 1'b0;
        else if (s_axil_arvalid && s_axil_arready) s_axil_rvalid <= 1'b1;
        else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    always @(posedge clk)
        if (s_axil_arvalid && s_axil_arready) begin
            s_axil_rresp <= OKAY;
            case (read_addr)
                12'h008: s_axil_rdata <= INDICES;
                12'h00c: s_axil_rdata <= SLOTS;
                12'h010: s_axil_rdata <= BEATS;
                12'h018: s_axil_rdata <= ADDER_LATENCY;
                12'h020: s_axil_rdata <= MEMBERS;
                12'h000: s_axil_rdata <= 32'd1330397510;
                12'h004: s_axil_rdata <= 32'd3;
                12'h014: s_axil_rdata <= 32'd16;
                12'h01c: s_axil_rdata <= 32'd250000000;
                12'h040: s_axil_rdata <= range_first;
                12'h044: s_axil_rdata <= range_last;
                12'h048: s_axil_rdata <= set_mode;
                12'h04c: s_axil_rdata <= rate;
                12'h050: s_axil_rdata <= hold;
                12'h054: s_axil_rdata <= active_window;
                12'h060: s_axil_rdata <= accumulate_quota;
                12'h064: s_axil_rdata <= set_threshold;
                12'h068: s_axil_rdata <= set_reward_enable;
                12'h06c: s_axil_rdata <= set_reward_threshold;
                12'h074: s_axil_rdata <= set_stale_enable;
                12'h078: s_axil_rdata <= set_stale_bound;
                12'h024: s_axil_rdata <= stale_shifts_low;
                12'h028: s_axil_rdata <= stale_shifts_high;
                12'h058, 12'h05c, 12'h070: s_axil_rdata <= 32'd0;
                12'h0a0: s_axil_rdata <= command_busy;
                12'h0a4: s_axil_rdata <= command_error;
                12'h0a8: s_axil_rdata <= get_mode;
                12'h0ac: s_axil_rdata <= get_threshold;
                12'h0b0: s_axil_rdata <= get_reward_enable;
                12'h0b4: s_axil_rdata <= get_reward_threshold;
                12'h0b8: s_axil_rdata <= get_state;
                12'h0bc: s_axil_rdata <= get_round;
                12'h0c0: s_axil_rdata <= get_count;
                12'h0c4: s_axil_rdata <= get_members_low;
                12'h0c8: s_axil_rdata <= get_members_high;
                12'h0cc: s_axil_rdata <= get_stale_enable;
                12'h0d0: s_axil_rdata <= get_stale_bound;
                12'h0d4: s_axil_rdata <= get_newest;
                12'h080: s_axil_rdata <= shown_occupancy;
                12'h084: s_axil_rdata <= shown_active_clusters;
                12'h088: s_axil_rdata <= shown_resident_updates;
                12'h08c: s_axil_rdata <= shown_resident_bypass;
                12'h090: s_axil_rdata <= shown_accumulating;
                default:
                    if (read_addr >= 12'h100 && read_addr <= 12'h214)
                        s_axil_rdata <= words[32*((read_addr - 12'h100) >> 2) +: 32];
                    else begin
                        s_axil_rdata <= 32'd0;
                        s_axil_rresp <= SLVERR;
                    end
            endcase
        end

    // A snapshot waits a cycle, for what was counted last; so does the answer to the write that requested it.
    reg snapshot_now;
    always @(posedge clk) begin
        snapshot_now <= do_snapshot;
        cycle <= queue_rst ? 64'd0 : cycle + 64'd1;
        if (snapshot_now) begin
            shown_cycle <= cycle;
            shown_occupancy <= occupancy;
            shown_active_clusters <= active_clusters;
            shown_resident_updates <= resident_updates;
            shown_resident_bypass <= resident_bypass;
            shown_accumulating <= accumulating;
        end
    end

    // in_updates and in_bypass restart at what is resident, so that they stay the sum of all dispositions.
    reg  [64*COUNTERS-1:0] restart;
    always @* begin
        restart = {64*COUNTERS{1'b0}};
        restart[64*IN_UPDATES +: 64] = {32'd0, resident_updates_next};
        restart[64*IN_BYPASS +: 64] = {32'd0, resident_bypass_next};
    end
    olaf_counters #(.COUNT(COUNTERS)) counting (
        .clk(clk), .rst(queue_rst), .count(was), .clear(do_clear), .cleared(restart), .snapshot(snapshot_now),
        .now(counters), .shown(shown)
    );

`ifndef SYNTHESIS
    // Conservation, after every cycle in which something was counted.
    localparam [COUNTERS-1:0] DISPOSITIONS = 34'b1011111110000000011111111111100010;
    function [63:0] accounted(input [31:0] resident);
        integer each;
        begin
            accounted = {32'd0, resident};
            for (each = 0; each < COUNTERS; each = each + 1)
                if (DISPOSITIONS[each]) accounted = accounted + counters[64*each +: 64];
        end
    endfunction

    wire [63:0] in_updates = counters[64*IN_UPDATES +: 64], in_bypass = counters[64*IN_BYPASS +: 64];
    wire [63:0] out_bypass = counters[64*OUT_BYPASS +: 64], dropped_bypass = counters[64*DROPPED_BYPASS +: 64];
    reg counted;
    always @(posedge clk) begin
        counted <= do_clear || was[IN_UPDATES] || was[OUT_UPDATES] || was[DROPPED_RESET] || was[IN_BYPASS] || was[OUT_BYPASS];
        if (!queue_rst && counted)
            if (in_updates != accounted(resident_updates)
                || in_bypass != out_bypass + dropped_bypass + {32'd0, resident_bypass}) begin
                $display("olaf_registers: conservation broken: %0d updates in, %0d accounted for, of them %0d resident",
                         in_updates, accounted(resident_updates), resident_updates);
                $stop;
            end
    end
`endif
    wire unused_counters = &{1'b0, counters};
endmodule
`default_nettype wire
