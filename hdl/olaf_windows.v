// Which contributions an index took of a member (iSwitch §4): the highest number, and which of the 16 before it.
//
// A row is read as an update is looked up and stays until the next one is, so that it can be written when
// the update has arrived to its end. No row is ever cleared: what is known of a member stands elsewhere.
`include "olaf_layout.vh"
`default_nettype none
module olaf_windows #(
    parameter INDEX_BITS = 4,
    parameter MEMBER_BITS = 5
) (
    input  wire                   clk,

    input  wire                   look,
    input  wire [INDEX_BITS-1:0]  index,
    input  wire [MEMBER_BITS-1:0] member,

    input  wire                   compare,  // with what was looked up
    input  wire [`OLAF_OLAF_SEQ_WIDTH-1:0] number,
    output reg                    taken,    // this number was already
    output reg                    before_window, // it is older than the window

    input  wire                   take,     // it is taken
    input  wire                   known     // something of the member was before
);
    localparam NUMBER_BITS = `OLAF_OLAF_SEQ_WIDTH;
    localparam WIDTH = 16;
    localparam PLACE_BITS = 4;
    localparam ROW_BITS = NUMBER_BITS + WIDTH;
    localparam ADDR_BITS = INDEX_BITS + MEMBER_BITS;

    (* ram_style = "block" *)
    reg [ROW_BITS-1:0]    rows [0:(1<<ADDR_BITS)-1];
    reg [ROW_BITS-1:0]    row;
    reg [ADDR_BITS-1:0]   at;

    wire [NUMBER_BITS-1:0] highest = row[ROW_BITS-1:WIDTH];
    wire [WIDTH-1:0]       earlier = row[WIDTH-1:0];   // bit i: of the number highest - 1 - i
    wire [NUMBER_BITS-1:0] after_highest = number - highest;
    wire                   in_window = &after_highest[NUMBER_BITS-1:PLACE_BITS];

    reg [NUMBER_BITS-1:0]  compared_number;
    reg [PLACE_BITS:0]     distance;
    reg                    near, older;

    wire [2*WIDTH+PLACE_BITS:0] shifted = {{(WIDTH + PLACE_BITS){1'b0}}, earlier, 1'b1} << distance;
    wire [WIDTH-1:0] place = {{(WIDTH - 1){1'b0}}, 1'b1} << ~distance[PLACE_BITS-1:0];
    wire [WIDTH-1:0] new_earlier = !known ? {WIDTH{1'b0}}
                                : older  ? earlier | place
                                : near   ? shifted[WIDTH:1]
                                :          {WIDTH{1'b0}};
    wire [NUMBER_BITS-1:0] new_highest = known && older ? highest : compared_number;

    always @(posedge clk) begin
        if (take) rows[at] <= {new_highest, new_earlier};
        if (look) row <= rows[{index, member}];
    end

    always @(posedge clk) begin
        if (look) at <= {index, member};
        if (compare) begin
            compared_number <= number;
            distance <= after_highest[PLACE_BITS:0];
            near <= ~|after_highest[NUMBER_BITS-1:PLACE_BITS+1];
            older <= after_highest[NUMBER_BITS-1];
            taken <= after_highest == 0 || (in_window && earlier[~after_highest[PLACE_BITS-1:0]]);
            before_window <= after_highest[NUMBER_BITS-1] && !in_window;
        end
    end

    wire unused = &{1'b0, shifted};

`ifndef SYNTHESIS
    // An update is looked up, then compared, then taken once or not at all.
    reg looked, compared;
    initial {looked, compared} = 2'b00;
    always @(posedge clk) begin
        if (look || take) looked <= look;
        if (look || compare || take) compared <= compare && looked && !look && !take;
        if (take)
            if (look || !compared || (known && (taken || before_window))) begin
                $display("olaf_windows: a contribution is taken that was not looked up, or taken before");
                $stop;
            end
    end
`endif
endmodule
`default_nettype wire
