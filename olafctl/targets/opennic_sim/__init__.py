"""The opennic target with the card in simulation: the whole box in Verilator, behind the card's own agent."""
