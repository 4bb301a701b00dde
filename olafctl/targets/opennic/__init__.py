"""The FPGA: OpenNIC's 250 MHz user box with VitisNetP4 around OlafQueue."""
