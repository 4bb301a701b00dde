// One Verilated binary32 adder, for comparing it with numpy at speed.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "Volaf.h"
#include "verilated.h"

// sums[i] = left[i] + right[i], one addition a cycle. With `copy`, one of each pair must be -0.
extern "C" __attribute__((visibility("default"))) void olaf_add(const uint32_t *left, const uint32_t *right,
                                                                uint32_t *sums, size_t count, int copy) {
    VerilatedContext context;
    auto top = std::make_unique<Volaf>(&context);
    top->step = (1u << OLAF_ADDER_LATENCY) - 1;
    top->copy = copy;
    top->eval();  // the clock is seen low before it first rises
    for (size_t i = 0; i < count + OLAF_ADDER_LATENCY; ++i) {
        if (i < count) top->a = left[i], top->b = right[i];
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        if (i + 1 >= OLAF_ADDER_LATENCY && i + 1 - OLAF_ADDER_LATENCY < count)
            sums[i + 1 - OLAF_ADDER_LATENCY] = top->sum;
    }
}
