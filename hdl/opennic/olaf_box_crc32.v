// CRC-32 (IEEE 802.3: reflected, all ones before and after) of a five-tuple, first byte on top: v1model's
// `hash` with HashAlgorithm.crc32. Answers exactly LATENCY cycles later, one a cycle, as a UserExtern must.
`default_nettype none
module olaf_box_crc32 #(
    parameter BYTES = 13,    // the five-tuple: two addresses, protocol, two ports
    parameter LATENCY = 4    // cycles, at least 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               in_valid,
    input  wire [8*BYTES-1:0] in_data,
    output wire               out_valid,
    output wire [31:0]        out_crc
);
    localparam SHARE = (BYTES + LATENCY - 1) / LATENCY; // bytes of one stage

    function [31:0] crc_of(input [31:0] crc_in, input [7:0] data);
        integer i;
        begin
            crc_of = crc_in ^ {24'd0, data};
            for (i = 0; i < 8; i = i + 1)
                crc_of = (crc_of >> 1) ^ (crc_of[0] ? 32'hedb88320 : 32'd0);
        end
    endfunction

    reg [LATENCY-1:0] valid;
    always @(posedge clk) valid <= rst ? {LATENCY{1'b0}} : (valid << 1) | {{(LATENCY - 1){1'b0}}, in_valid};
    assign out_valid = valid[LATENCY-1];

    genvar stage;
    generate
        for (stage = 0; stage < LATENCY; stage = stage + 1) begin : stages
            wire [8*BYTES-1:0] data;
            wire [31:0]        crc;
            reg  [8*BYTES-1:0] data_on;
            reg  [31:0]        crc_on;
            if (stage == 0) begin : enter
                assign data = in_data;
                assign crc = 32'hffffffff;
            end else begin : follow
                assign data = stages[stage-1].data_on;
                assign crc = stages[stage-1].crc_on;
            end
            integer i;
            reg [31:0] so_far;
            always @* begin
                so_far = crc;
                for (i = SHARE * stage; i < SHARE * (stage + 1) && i < BYTES; i = i + 1)
                    so_far = crc_of(so_far, data[8*(BYTES-1-i) +: 8]);
            end
            always @(posedge clk) begin
                crc_on <= so_far;
                data_on <= data;
            end
        end
    endgenerate
    assign out_crc = ~stages[LATENCY-1].crc_on;
    wire unused = &{1'b0, stages[LATENCY-1].data_on};
endmodule
`default_nettype wire
