"""What the repository generates from one definition of it: P4, Verilog, C, the SDK's headers, documents."""
