// What p4_intake promises for every stream: each beat goes to the store once, as it came and with its bytes; the
// first two beats of a frame, or all of a shorter one, are in the window once, with their bytes and what came
// beside the first; and nothing is taken while it shall pause or while the store has room for 6 beats or fewer.
module intake_formal (
    input wire       clk,
    input wire [5:0] data,
    input wire [5:0] more,    // bytes of a last beat beyond one
    input wire       last,
    input wire       valid,
    input wire       pause,
    input wire       leaves,
    input wire [5:0] level
);
    localparam STORE_BITS = 5, ROOM = 32;
    reg         rst = 1'b1;
    wire [6:0]  bytes = last ? 7'd1 + {1'b0, more} : 7'd64;
    wire        ready, window_valid, store_valid;
    wire [1023:0] window;
    wire [15:0] window_bytes;
    wire [5:0]  window_side;
    wire [519:0] store;
    wire [2:0]  present;
    wire        leave = leaves && present != 3'd0;

    p4_intake #(.BEATS(2), .SIDE(6), .STORE_BITS(STORE_BITS), .CREDIT_BITS(2)) intake (
        .clk(clk), .rst(rst), .s_tdata({506'd0, data}), .s_tkeep({64{1'b1}} >> (7'd64 - bytes)), .s_tlast(last),
        .s_tvalid(valid), .s_tready(ready), .s_side(~data), .window(window), .window_bytes(window_bytes),
        .window_side(window_side), .window_valid(window_valid), .pause(pause), .store(store),
        .store_valid(store_valid), .store_level(level), .leave(leave), .present(present)
    );

    // The frame at the input, and the beat taken last.
    reg         begun = 1'b0, second = 1'b0;   // beats taken of it: none, one, more
    reg         took = 1'b0, took_last, took_first, took_second;
    reg [5:0]   took_data, took_side;
    reg [6:0]   took_bytes;
    // The window that is due.
    reg         due = 1'b0, due_second;
    reg [5:0]   due_first, due_data;
    reg [15:0]  due_bytes;
    reg         may = 1'b0, must = 1'b0;
    always @(posedge clk) begin
        rst <= 1'b0;
        if (rst) {begun, second, took, due} <= 4'd0;
        else begin
            took <= valid && ready;
            took_last <= last;
            took_first <= !begun;
            took_second <= begun && !second;
            took_data <= data;
            took_bytes <= bytes;
            if (valid && ready) begin
                begun <= !last;
                second <= begun && !last;
            end
            due <= took && (took_second || (took_first && took_last));
            due_second <= took_second;
            due_first <= took_first ? took_data : took_side;
            due_data <= took_data;
            due_bytes <= {9'd0, took_bytes} + (took_second ? 16'd64 : 16'd0);
            if (took && took_first) took_side <= took_data;
        end
        may <= !rst && !pause && level + 6'd6 < ROOM;
        must <= !rst && !pause && level + 6'd6 < ROOM && present == 3'd0 && !(valid && ready);
        if (!rst) begin
            assume (level <= ROOM);
            if (ready) assert (may);
            if (must) assert (ready || present != 3'd0);
            assert (store_valid == took);
            if (took) assert ({store[519:512], store[5:0]} == {took_last, took_bytes, took_data});
            assert (window_valid == due);
            if (due) begin
                assert (window_bytes == due_bytes);
                assert (window_side == ~due_first);
                assert (window[5:0] == due_first);
                if (due_second) assert (window[517:512] == due_data);
            end
        end
    end
endmodule
