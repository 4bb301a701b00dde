"""The FPGA: Corundum, an open NIC, with the box as its application block."""
