// What a Verilated model does when it meets $stop, $finish or a fatal error.
#pragma once
#include <cstdint>

// How often $stop, that is a failed assertion, was met in this process.
uint64_t verilated_stops();
