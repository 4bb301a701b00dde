// CRC-32 (IEEE 802.3: reflected, all ones before and after) of a five-tuple, first byte on top: v1model's
// `hash` with HashAlgorithm.crc32. Answers exactly LATENCY cycles later, one a cycle, as a UserExtern must.
`default_nettype none
module olaf_box_crc32 #(
    parameter LATENCY = 4    // cycles, at least 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         in_valid,
    input  wire [103:0] in_data,   // two addresses, protocol, two ports
    output wire         out_valid,
    output wire [31:0]  out_crc
);
    // Each bit of it is a parity of the data, a few levels deep.
    reg [31:0] crc;
    integer    byte_, i;
    always @* begin
        crc = 32'hffffffff;
        for (byte_ = 12; byte_ >= 0; byte_ = byte_ - 1) begin
            crc = crc ^ {24'd0, in_data[8*byte_ +: 8]};
            for (i = 0; i < 8; i = i + 1) crc = (crc >> 1) ^ (crc[0] ? 32'hedb88320 : 32'd0);
        end
    end
    reg [33*LATENCY-1:0] waiting;
    always @(posedge clk) waiting <= rst ? {33*LATENCY{1'b0}} : (waiting << 33) | {{33*(LATENCY-1){1'b0}}, in_valid, ~crc};
    assign {out_valid, out_crc} = waiting[33*LATENCY-1 -: 33];
endmodule
`default_nettype wire
