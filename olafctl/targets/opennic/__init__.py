"""The FPGA: OpenNIC's 250 MHz user box with VNP4₁ and VNP4₂ around OlafQueue."""
