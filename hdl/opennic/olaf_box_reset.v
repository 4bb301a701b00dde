// The reset of everything in the box, as the shell asks for it: a pulse of one cycle of the register clock begins
// it, and `mod_rst_done` stays up from its end to the next.
//
// First what is being sent is sent to its end, for what follows a box that stops in the middle of a frame would
// join the two halves of different frames. A port that does not move is not waited for longer than DRAIN_CYCLES.
`default_nettype none
module olaf_box_reset #(
    parameter DRAIN_CYCLES = 8000,  // of axil_aclk: 64 µs, 20 times what the stores can hold
    parameter HOLD_CYCLES = 100,    // reset lasts so long in the slowest clock's domain
    parameter READY_CYCLES = 8000   // then the blocks have so long to become ready
) (
    input  wire axil_aclk,
    input  wire axis_aclk,
    input  wire ref_clk,            // of the IPs' registers

    input  wire mod_rstn,           // axil_aclk
    output reg  mod_rst_done,

    output wire pause,              // axis_aclk: begin nothing
    input  wire resting,            // axis_aclk: nothing is half sent
    input  wire ready,              // axis_aclk: every block takes frames

    output wire axil_rst,
    output wire axis_rst,
    output wire ref_rst
);
    localparam RUN = 2'd0, DRAIN = 2'd1, HOLD = 2'd2, READY = 2'd3;

    reg [1:0]  state;
    reg [15:0] count;
    reg        asked;
    reg        held;      // the reset, in axil_aclk
    initial state = HOLD; // as configured: nothing is to be drained
    initial count = 16'd0;
    initial asked = 1'b0;
    initial held = 1'b1;
    initial mod_rst_done = 1'b0;

    reg rests, takes;     // what crosses comes out of a flip-flop
    always @(posedge axis_aclk) {rests, takes} <= {resting, ready};
    (* async_reg = "true" *) reg [1:0] resting_here, ready_here;
    always @(posedge axil_aclk) begin
        resting_here <= {resting_here[0], rests};
        ready_here <= {ready_here[0], takes};
    end

    wire [15:0] limit = state == DRAIN ? DRAIN_CYCLES : state == HOLD ? HOLD_CYCLES : READY_CYCLES;
    wire        late = count >= limit;
    wire        next = state == DRAIN ? late || (count > 16'd8 && resting_here[1])
                     : state == HOLD ? late
                     : late || (count > 16'd8 && ready_here[1]);

    always @(posedge axil_aclk) begin
        held <= state == HOLD;
        asked <= !mod_rstn || (asked && state != RUN);
        count <= state == RUN || next ? 16'd0 : count + 16'd1;
        case (state)
            RUN: if (asked) begin
                state <= DRAIN;
                mod_rst_done <= 1'b0;
            end
            DRAIN: if (next) state <= HOLD;
            HOLD: if (next) state <= READY;
            READY: if (next) begin
                state <= RUN;
                mod_rst_done <= 1'b1;
            end
        endcase
    end
    assign axil_rst = held;

    // Into the other domains.
    reg draining;
    initial draining = 1'b0;
    always @(posedge axil_aclk) draining <= state == DRAIN;
    (* async_reg = "true" *) reg [1:0] pause_there, axis_there, ref_there;
    initial {axis_there, ref_there} = 4'b1111;
    initial pause_there = 2'b00;
    always @(posedge axis_aclk) begin
        pause_there <= {pause_there[0], draining};
        axis_there <= {axis_there[0], held};
    end
    always @(posedge ref_clk) ref_there <= {ref_there[0], held};
    assign pause = pause_there[1];
    assign axis_rst = axis_there[1];
    assign ref_rst = ref_there[1];
endmodule
`default_nettype wire
