// The Verilated OlafQueue under the values that its control has while it appends and sends (queue/steady.py).
#pragma once

class Volaf___024root;

// Evaluate once where the clock has just risen and all of these values are there; false and nothing done
// otherwise.
bool olaf_steady(Volaf___024root *);
