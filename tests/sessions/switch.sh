# A program compiled, run, simulated and programmed.
#: switch/README.md: cat > next.p4
#: switch/README.md: touch 1.in
#: switch/README.md: cat > program.py
#: switch/README.md: olafswitch compile next.p4 --verilog
#: switch/README.md: olafswitch drop-in
