"""Compile a checked program to Verilog-2005: a pipeline of header parse, match-action and deparse."""
