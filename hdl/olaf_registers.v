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

    reg [63:0] cycle /* verilator public_flat_rw */;
    reg [63:0] in_updates;
    reg [63:0] out_updates;
    reg [63:0] in_bypass;
    reg [63:0] out_bypass;
    reg [63:0] appended;
    reg [63:0] merged;
    reg [63:0] replaced_worker;
    reg [63:0] replaced_reward;
    reg [63:0] dropped_full;
    reg [63:0] dropped_reward;
    reg [63:0] dropped_mismatch;
    reg [63:0] dropped_header;
    reg [63:0] dropped_length;
    reg [63:0] dropped_oversize;
    reg [63:0] dropped_index;
    reg [63:0] dropped_truncated;
    reg [63:0] dropped_overlong;
    reg [63:0] dropped_bypass;
    reg [63:0] locked_appends;
    reg [63:0] saturations;
    reg [63:0] cut_through;
    reg [63:0] repaired;
    reg [63:0] input_stalls;
    reg [63:0] input_beats;
    reg [63:0] output_beats;
    reg [63:0] dropped_halted;
    reg [63:0] dropped_member;
    reg [63:0] dropped_duplicate;
    reg [63:0] dropped_late;
    reg [63:0] dropped_quota;
    reg [63:0] dropped_superseded;
    reg [63:0] dropped_reset;
    reg [63:0] forced;
    reg [63:0] dropped_stale;
    reg [31:0] shown_occupancy;
    reg [31:0] shown_active_clusters;
    reg [31:0] shown_resident_updates;
    reg [31:0] shown_resident_bypass;
    reg [31:0] shown_accumulating;
    reg [63:0] shown_cycle;
    reg [63:0] shown_in_updates;
    reg [63:0] shown_out_updates;
    reg [63:0] shown_in_bypass;
    reg [63:0] shown_out_bypass;
    reg [63:0] shown_appended;
    reg [63:0] shown_merged;
    reg [63:0] shown_replaced_worker;
    reg [63:0] shown_replaced_reward;
    reg [63:0] shown_dropped_full;
    reg [63:0] shown_dropped_reward;
    reg [63:0] shown_dropped_mismatch;
    reg [63:0] shown_dropped_header;
    reg [63:0] shown_dropped_length;
    reg [63:0] shown_dropped_oversize;
    reg [63:0] shown_dropped_index;
    reg [63:0] shown_dropped_truncated;
    reg [63:0] shown_dropped_overlong;
    reg [63:0] shown_dropped_bypass;
    reg [63:0] shown_locked_appends;
    reg [63:0] shown_saturations;
    reg [63:0] shown_cut_through;
    reg [63:0] shown_repaired;
    reg [63:0] shown_input_stalls;
    reg [63:0] shown_input_beats;
    reg [63:0] shown_output_beats;
    reg [63:0] shown_dropped_halted;
    reg [63:0] shown_dropped_member;
    reg [63:0] shown_dropped_duplicate;
    reg [63:0] shown_dropped_late;
    reg [63:0] shown_dropped_quota;
    reg [63:0] shown_dropped_superseded;
    reg [63:0] shown_dropped_reset;
    reg [63:0] shown_forced;
    reg [63:0] shown_dropped_stale;

    assign now = cycle;

    // What is counted is counted a cycle after it happened: all alike, so that the counters agree. In the last
    // cycle of queue_rst nothing happens.
    reg was_bypass_accepted;
    reg was_in_updates;
    reg was_out_updates;
    reg was_in_bypass;
    reg was_out_bypass;
    reg was_appended;
    reg was_merged;
    reg was_replaced_worker;
    reg was_replaced_reward;
    reg was_dropped_full;
    reg was_dropped_reward;
    reg was_dropped_mismatch;
    reg was_dropped_header;
    reg was_dropped_length;
    reg was_dropped_oversize;
    reg was_dropped_index;
    reg was_dropped_truncated;
    reg was_dropped_overlong;
    reg was_dropped_bypass;
    reg was_locked_appends;
    reg was_saturations;
    reg was_cut_through;
    reg was_repaired;
    reg was_input_stalls;
    reg was_input_beats;
    reg was_output_beats;
    reg was_dropped_halted;
    reg was_dropped_member;
    reg was_dropped_duplicate;
    reg was_dropped_late;
    reg was_dropped_quota;
    reg was_dropped_superseded;
    reg was_dropped_reset;
    reg was_forced;
    reg was_dropped_stale;
    always @(posedge clk) begin
        was_bypass_accepted <= bypass_accepted;
        was_in_updates <= inc_in_updates;
        was_out_updates <= inc_out_updates;
        was_in_bypass <= inc_in_bypass;
        was_out_bypass <= inc_out_bypass;
        was_appended <= inc_appended;
        was_merged <= inc_merged;
        was_replaced_worker <= inc_replaced_worker;
        was_replaced_reward <= inc_replaced_reward;
        was_dropped_full <= inc_dropped_full;
        was_dropped_reward <= inc_dropped_reward;
        was_dropped_mismatch <= inc_dropped_mismatch;
        was_dropped_header <= inc_dropped_header;
        was_dropped_length <= inc_dropped_length;
        was_dropped_oversize <= inc_dropped_oversize;
        was_dropped_index <= inc_dropped_index;
        was_dropped_truncated <= inc_dropped_truncated;
        was_dropped_overlong <= inc_dropped_overlong;
        was_dropped_bypass <= inc_dropped_bypass;
        was_locked_appends <= inc_locked_appends;
        was_saturations <= inc_saturations;
        was_cut_through <= inc_cut_through;
        was_repaired <= inc_repaired;
        was_input_stalls <= inc_input_stalls;
        was_input_beats <= inc_input_beats;
        was_output_beats <= inc_output_beats;
        was_dropped_halted <= inc_dropped_halted;
        was_dropped_member <= inc_dropped_member;
        was_dropped_duplicate <= inc_dropped_duplicate;
        was_dropped_late <= inc_dropped_late;
        was_dropped_quota <= inc_dropped_quota;
        was_dropped_superseded <= inc_dropped_superseded;
        was_dropped_reset <= inc_dropped_reset;
        was_forced <= inc_forced;
        was_dropped_stale <= inc_dropped_stale;
    end

    // Frames that came in and have not wholly left.
    reg  [31:0] resident_updates, resident_bypass;
    wire [31:0] resident_updates_next = resident_updates + {31'd0, was_appended} - {31'd0, was_out_updates}
                                      - {31'd0, was_dropped_reset};
    wire [31:0] resident_bypass_next = resident_bypass + {31'd0, was_bypass_accepted}
                                     - {31'd0, was_out_bypass};
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
    // The lowest bits of an address only say which bytes are meant, as wstrb does.
    wire [11:0] write_addr = {s_axil_awaddr[11:2], 2'd0};
    wire [11:0] read_addr = {s_axil_araddr[11:2], 2'd0};
    wire write = s_axil_awvalid && s_axil_wvalid && !written && !s_axil_bvalid;
    wire [31:0] mask = {{8{s_axil_wstrb[3]}}, {8{s_axil_wstrb[2]}}, {8{s_axil_wstrb[1]}}, {8{s_axil_wstrb[0]}}};
    assign s_axil_awready = write;
    assign s_axil_wready = write;
    assign do_command = write && write_addr == 12'h070 && s_axil_wstrb[0];
    assign command = s_axil_wdata[7:0];
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
                    12'h058: ;
                    12'h05c: ;
                    12'h070: ;
                    default: s_axil_bresp <= SLVERR;
                endcase
            end
        end

    wire unused = &{1'b0, s_axil_awaddr[1:0], s_axil_araddr[1:0]};

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
                12'h058: s_axil_rdata <= 32'd0;
                12'h05c: s_axil_rdata <= 32'd0;
                12'h070: s_axil_rdata <= 32'd0;
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
                12'h100: s_axil_rdata <= shown_cycle[31:0];
                12'h104: s_axil_rdata <= shown_cycle[63:32];
                12'h108: s_axil_rdata <= shown_in_updates[31:0];
                12'h10c: s_axil_rdata <= shown_in_updates[63:32];
                12'h110: s_axil_rdata <= shown_out_updates[31:0];
                12'h114: s_axil_rdata <= shown_out_updates[63:32];
                12'h118: s_axil_rdata <= shown_in_bypass[31:0];
                12'h11c: s_axil_rdata <= shown_in_bypass[63:32];
                12'h120: s_axil_rdata <= shown_out_bypass[31:0];
                12'h124: s_axil_rdata <= shown_out_bypass[63:32];
                12'h128: s_axil_rdata <= shown_appended[31:0];
                12'h12c: s_axil_rdata <= shown_appended[63:32];
                12'h130: s_axil_rdata <= shown_merged[31:0];
                12'h134: s_axil_rdata <= shown_merged[63:32];
                12'h138: s_axil_rdata <= shown_replaced_worker[31:0];
                12'h13c: s_axil_rdata <= shown_replaced_worker[63:32];
                12'h140: s_axil_rdata <= shown_replaced_reward[31:0];
                12'h144: s_axil_rdata <= shown_replaced_reward[63:32];
                12'h148: s_axil_rdata <= shown_dropped_full[31:0];
                12'h14c: s_axil_rdata <= shown_dropped_full[63:32];
                12'h150: s_axil_rdata <= shown_dropped_reward[31:0];
                12'h154: s_axil_rdata <= shown_dropped_reward[63:32];
                12'h158: s_axil_rdata <= shown_dropped_mismatch[31:0];
                12'h15c: s_axil_rdata <= shown_dropped_mismatch[63:32];
                12'h160: s_axil_rdata <= shown_dropped_header[31:0];
                12'h164: s_axil_rdata <= shown_dropped_header[63:32];
                12'h168: s_axil_rdata <= shown_dropped_length[31:0];
                12'h16c: s_axil_rdata <= shown_dropped_length[63:32];
                12'h170: s_axil_rdata <= shown_dropped_oversize[31:0];
                12'h174: s_axil_rdata <= shown_dropped_oversize[63:32];
                12'h178: s_axil_rdata <= shown_dropped_index[31:0];
                12'h17c: s_axil_rdata <= shown_dropped_index[63:32];
                12'h180: s_axil_rdata <= shown_dropped_truncated[31:0];
                12'h184: s_axil_rdata <= shown_dropped_truncated[63:32];
                12'h188: s_axil_rdata <= shown_dropped_overlong[31:0];
                12'h18c: s_axil_rdata <= shown_dropped_overlong[63:32];
                12'h190: s_axil_rdata <= shown_dropped_bypass[31:0];
                12'h194: s_axil_rdata <= shown_dropped_bypass[63:32];
                12'h198: s_axil_rdata <= shown_locked_appends[31:0];
                12'h19c: s_axil_rdata <= shown_locked_appends[63:32];
                12'h1a0: s_axil_rdata <= shown_saturations[31:0];
                12'h1a4: s_axil_rdata <= shown_saturations[63:32];
                12'h1a8: s_axil_rdata <= shown_cut_through[31:0];
                12'h1ac: s_axil_rdata <= shown_cut_through[63:32];
                12'h1b0: s_axil_rdata <= shown_repaired[31:0];
                12'h1b4: s_axil_rdata <= shown_repaired[63:32];
                12'h1b8: s_axil_rdata <= shown_input_stalls[31:0];
                12'h1bc: s_axil_rdata <= shown_input_stalls[63:32];
                12'h1c0: s_axil_rdata <= shown_input_beats[31:0];
                12'h1c4: s_axil_rdata <= shown_input_beats[63:32];
                12'h1c8: s_axil_rdata <= shown_output_beats[31:0];
                12'h1cc: s_axil_rdata <= shown_output_beats[63:32];
                12'h1d0: s_axil_rdata <= shown_dropped_halted[31:0];
                12'h1d4: s_axil_rdata <= shown_dropped_halted[63:32];
                12'h1d8: s_axil_rdata <= shown_dropped_member[31:0];
                12'h1dc: s_axil_rdata <= shown_dropped_member[63:32];
                12'h1e0: s_axil_rdata <= shown_dropped_duplicate[31:0];
                12'h1e4: s_axil_rdata <= shown_dropped_duplicate[63:32];
                12'h1e8: s_axil_rdata <= shown_dropped_late[31:0];
                12'h1ec: s_axil_rdata <= shown_dropped_late[63:32];
                12'h1f0: s_axil_rdata <= shown_dropped_quota[31:0];
                12'h1f4: s_axil_rdata <= shown_dropped_quota[63:32];
                12'h1f8: s_axil_rdata <= shown_dropped_superseded[31:0];
                12'h1fc: s_axil_rdata <= shown_dropped_superseded[63:32];
                12'h200: s_axil_rdata <= shown_dropped_reset[31:0];
                12'h204: s_axil_rdata <= shown_dropped_reset[63:32];
                12'h208: s_axil_rdata <= shown_forced[31:0];
                12'h20c: s_axil_rdata <= shown_forced[63:32];
                12'h210: s_axil_rdata <= shown_dropped_stale[31:0];
                12'h214: s_axil_rdata <= shown_dropped_stale[63:32];
                default: begin
                    s_axil_rdata <= 32'd0;
                    s_axil_rresp <= SLVERR;
                end
            endcase
        end

    // Counters. in_updates and in_bypass restart at what is resident, so that they stay the sum of all dispositions.
    always @(posedge clk)
        if (queue_rst) begin
            cycle <= 64'd0;
            in_updates <= 64'd0;
            out_updates <= 64'd0;
            in_bypass <= 64'd0;
            out_bypass <= 64'd0;
            appended <= 64'd0;
            merged <= 64'd0;
            replaced_worker <= 64'd0;
            replaced_reward <= 64'd0;
            dropped_full <= 64'd0;
            dropped_reward <= 64'd0;
            dropped_mismatch <= 64'd0;
            dropped_header <= 64'd0;
            dropped_length <= 64'd0;
            dropped_oversize <= 64'd0;
            dropped_index <= 64'd0;
            dropped_truncated <= 64'd0;
            dropped_overlong <= 64'd0;
            dropped_bypass <= 64'd0;
            locked_appends <= 64'd0;
            saturations <= 64'd0;
            cut_through <= 64'd0;
            repaired <= 64'd0;
            input_stalls <= 64'd0;
            input_beats <= 64'd0;
            output_beats <= 64'd0;
            dropped_halted <= 64'd0;
            dropped_member <= 64'd0;
            dropped_duplicate <= 64'd0;
            dropped_late <= 64'd0;
            dropped_quota <= 64'd0;
            dropped_superseded <= 64'd0;
            dropped_reset <= 64'd0;
            forced <= 64'd0;
            dropped_stale <= 64'd0;
        end else begin
            cycle <= cycle + 64'd1;
            if (was_in_updates) in_updates <= in_updates + 64'd1;
            if (was_out_updates) out_updates <= out_updates + 64'd1;
            if (was_in_bypass) in_bypass <= in_bypass + 64'd1;
            if (was_out_bypass) out_bypass <= out_bypass + 64'd1;
            if (was_appended) appended <= appended + 64'd1;
            if (was_merged) merged <= merged + 64'd1;
            if (was_replaced_worker) replaced_worker <= replaced_worker + 64'd1;
            if (was_replaced_reward) replaced_reward <= replaced_reward + 64'd1;
            if (was_dropped_full) dropped_full <= dropped_full + 64'd1;
            if (was_dropped_reward) dropped_reward <= dropped_reward + 64'd1;
            if (was_dropped_mismatch) dropped_mismatch <= dropped_mismatch + 64'd1;
            if (was_dropped_header) dropped_header <= dropped_header + 64'd1;
            if (was_dropped_length) dropped_length <= dropped_length + 64'd1;
            if (was_dropped_oversize) dropped_oversize <= dropped_oversize + 64'd1;
            if (was_dropped_index) dropped_index <= dropped_index + 64'd1;
            if (was_dropped_truncated) dropped_truncated <= dropped_truncated + 64'd1;
            if (was_dropped_overlong) dropped_overlong <= dropped_overlong + 64'd1;
            if (was_dropped_bypass) dropped_bypass <= dropped_bypass + 64'd1;
            if (was_locked_appends) locked_appends <= locked_appends + 64'd1;
            if (was_saturations) saturations <= saturations + 64'd1;
            if (was_cut_through) cut_through <= cut_through + 64'd1;
            if (was_repaired) repaired <= repaired + 64'd1;
            if (was_input_stalls) input_stalls <= input_stalls + 64'd1;
            if (was_input_beats) input_beats <= input_beats + 64'd1;
            if (was_output_beats) output_beats <= output_beats + 64'd1;
            if (was_dropped_halted) dropped_halted <= dropped_halted + 64'd1;
            if (was_dropped_member) dropped_member <= dropped_member + 64'd1;
            if (was_dropped_duplicate) dropped_duplicate <= dropped_duplicate + 64'd1;
            if (was_dropped_late) dropped_late <= dropped_late + 64'd1;
            if (was_dropped_quota) dropped_quota <= dropped_quota + 64'd1;
            if (was_dropped_superseded) dropped_superseded <= dropped_superseded + 64'd1;
            if (was_dropped_reset) dropped_reset <= dropped_reset + 64'd1;
            if (was_forced) forced <= forced + 64'd1;
            if (was_dropped_stale) dropped_stale <= dropped_stale + 64'd1;
            if (do_clear) begin
                in_updates <= {32'd0, resident_updates_next};
                out_updates <= 64'd0;
                in_bypass <= {32'd0, resident_bypass_next};
                out_bypass <= 64'd0;
                appended <= 64'd0;
                merged <= 64'd0;
                replaced_worker <= 64'd0;
                replaced_reward <= 64'd0;
                dropped_full <= 64'd0;
                dropped_reward <= 64'd0;
                dropped_mismatch <= 64'd0;
                dropped_header <= 64'd0;
                dropped_length <= 64'd0;
                dropped_oversize <= 64'd0;
                dropped_index <= 64'd0;
                dropped_truncated <= 64'd0;
                dropped_overlong <= 64'd0;
                dropped_bypass <= 64'd0;
                locked_appends <= 64'd0;
                saturations <= 64'd0;
                cut_through <= 64'd0;
                repaired <= 64'd0;
                input_stalls <= 64'd0;
                input_beats <= 64'd0;
                output_beats <= 64'd0;
                dropped_halted <= 64'd0;
                dropped_member <= 64'd0;
                dropped_duplicate <= 64'd0;
                dropped_late <= 64'd0;
                dropped_quota <= 64'd0;
                dropped_superseded <= 64'd0;
                dropped_reset <= 64'd0;
                forced <= 64'd0;
                dropped_stale <= 64'd0;
            end
        end

    // A snapshot waits a cycle, for what was counted last; so does the answer to the write that requested it.
    reg snapshot_now;
    always @(posedge clk) snapshot_now <= do_snapshot;
    always @(posedge clk)
        if (snapshot_now) begin
            shown_occupancy <= occupancy;
            shown_active_clusters <= active_clusters;
            shown_resident_updates <= resident_updates;
            shown_resident_bypass <= resident_bypass;
            shown_accumulating <= accumulating;
            shown_cycle <= cycle;
            shown_in_updates <= in_updates;
            shown_out_updates <= out_updates;
            shown_in_bypass <= in_bypass;
            shown_out_bypass <= out_bypass;
            shown_appended <= appended;
            shown_merged <= merged;
            shown_replaced_worker <= replaced_worker;
            shown_replaced_reward <= replaced_reward;
            shown_dropped_full <= dropped_full;
            shown_dropped_reward <= dropped_reward;
            shown_dropped_mismatch <= dropped_mismatch;
            shown_dropped_header <= dropped_header;
            shown_dropped_length <= dropped_length;
            shown_dropped_oversize <= dropped_oversize;
            shown_dropped_index <= dropped_index;
            shown_dropped_truncated <= dropped_truncated;
            shown_dropped_overlong <= dropped_overlong;
            shown_dropped_bypass <= dropped_bypass;
            shown_locked_appends <= locked_appends;
            shown_saturations <= saturations;
            shown_cut_through <= cut_through;
            shown_repaired <= repaired;
            shown_input_stalls <= input_stalls;
            shown_input_beats <= input_beats;
            shown_output_beats <= output_beats;
            shown_dropped_halted <= dropped_halted;
            shown_dropped_member <= dropped_member;
            shown_dropped_duplicate <= dropped_duplicate;
            shown_dropped_late <= dropped_late;
            shown_dropped_quota <= dropped_quota;
            shown_dropped_superseded <= dropped_superseded;
            shown_dropped_reset <= dropped_reset;
            shown_forced <= forced;
            shown_dropped_stale <= dropped_stale;
        end


`ifndef SYNTHESIS
    // Conservation, after every cycle in which something was counted.
    function [63:0] accounted(input [31:0] resident);
        accounted = {32'd0, resident} + out_updates + merged + replaced_worker + replaced_reward + dropped_full + dropped_reward + dropped_mismatch + dropped_header + dropped_length + dropped_oversize + dropped_index + dropped_truncated + dropped_overlong + dropped_halted + dropped_member + dropped_duplicate + dropped_late + dropped_quota + dropped_superseded + dropped_reset + dropped_stale;
    endfunction

    reg counted;
    always @(posedge clk) begin
        counted <= do_clear || was_in_updates || was_out_updates || was_dropped_reset || was_in_bypass || was_out_bypass;
        if (!queue_rst && counted)
            if (in_updates != accounted(resident_updates)
                || in_bypass != out_bypass + dropped_bypass + {32'd0, resident_bypass}) begin
                $display("olaf_registers: conservation broken: %0d updates in, %0d accounted for, of them %0d resident",
                         in_updates, accounted(resident_updates), resident_updates);
                $stop;
            end
    end
`endif
endmodule
`default_nettype wire
