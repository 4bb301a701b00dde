// Model of AMD's memory of one write and one read port, with the ports and parameters that the shell uses. A read
// takes two cycles; the second register moves with `regceb`.
`default_nettype none
module xpm_memory_sdpram #(
    parameter ECC_MODE = "", CLOCKING_MODE = "", MEMORY_INIT_FILE = "", MEMORY_INIT_PARAM = "",  // not modelled
    parameter MEMORY_OPTIMIZATION = "", MEMORY_PRIMITIVE = "", READ_RESET_VALUE_B = "", RST_MODE_A = "",
    parameter RST_MODE_B = "", WAKEUP_TIME = "", WRITE_MODE_B = "",
    parameter int AUTO_SLEEP_TIME = 0, BYTE_WRITE_WIDTH_A = 32, MEMORY_SIZE = 2048, MESSAGE_CONTROL = 0,
    parameter int READ_LATENCY_B = 2, USE_EMBEDDED_CONSTRAINT = 0, USE_MEM_INIT = 0,
    parameter int ADDR_WIDTH_A = 6,        // bits, as the next one
    parameter int ADDR_WIDTH_B = 6,
    parameter int READ_DATA_WIDTH_B = 32,  // bits, as the next one
    parameter int WRITE_DATA_WIDTH_A = 32
) (
    input  wire ena, wea, enb, regceb, injectdbiterra, injectsbiterra, sleep, clka, clkb, rstb,
    input  wire [ADDR_WIDTH_A-1:0] addra,
    input  wire [ADDR_WIDTH_B-1:0] addrb,
    input  wire [WRITE_DATA_WIDTH_A-1:0] dina,
    output reg  [READ_DATA_WIDTH_B-1:0] doutb,
    output wire dbiterrb, sbiterrb
);
    reg [WRITE_DATA_WIDTH_A-1:0] words [0:(1<<ADDR_WIDTH_A)-1];
    reg [READ_DATA_WIDTH_B-1:0]  read;
    always @(posedge clka) begin
        if (ena && wea) words[addra] <= dina;
        if (enb) read <= words[addrb];
        if (regceb) doutb <= read;
    end
endmodule
`default_nettype wire
