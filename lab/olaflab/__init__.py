"""What measures, simulates, reproduces and proves Olaf; the product never imports it."""
