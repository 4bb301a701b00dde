// What credits and the store of results promise together: however long a frame's result takes and whenever it is
// used, the store has room for it, and results leave as they came.
module results_formal (
    input wire clk,
    input wire offers,  // a frame would enter
    input wire makes,   // the oldest frame's result is made now
    input wire uses     // a result is used now
);
    localparam BITS = 2;
    reg            rst = 1'b1;
    reg  [3:0]     pending = 4'd0;   // frames whose result is not made
    reg  [4:0]     made = 5'd0, used = 5'd0;
    wire           ready, valid;
    wire [4:0]     result;
    wire [BITS:0]  level;
    wire           enter = offers && ready && !rst;
    wire           make = makes && pending != 4'd0;
    wire           leave = uses && valid && !rst;
    p4_credits #(.BITS(BITS)) credits (.clk(clk), .rst(rst), .enter(enter), .leave(leave), .ready(ready));
    p4_fifo #(.WIDTH(5), .BITS(BITS)) store (
        .clk(clk), .rst(rst), .s_data(made), .s_valid(make), .m_data(result), .m_valid(valid), .m_ready(leave),
        .level(level)
    );
    reg [2:0] idle = 3'd0;           // cycles for which no frame is inside
    always @(posedge clk) begin
        rst <= 1'b0;
        pending <= pending + {3'd0, enter} - {3'd0, make};
        made <= made + {4'd0, make};
        used <= used + {4'd0, leave};
        if (!rst) begin
            assert (level <= 1 << BITS);
            if (make) assert (level < 1 << BITS);
            if (valid) assert (result == used);
            idle <= pending != 4'd0 || made != used ? 3'd0 : idle + {2'd0, idle != 3'd7};
            if (idle >= 3'd2) assert (ready);
        end
    end
endmodule
