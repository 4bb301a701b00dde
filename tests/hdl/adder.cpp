// One Verilated binary32 adder, for comparing it with numpy at speed.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "Vbench.h"
#include "verilated.h"

// sums[i] = left[i] + right[i], one addition a cycle. With `copy`, one of each pair must be -0.
extern "C" __attribute__((visibility("default"))) void olaf_add(const uint32_t *left, const uint32_t *right,
                                                                uint32_t *sums, size_t count,
                                                                unsigned latency, int copy) {
    VerilatedContext context;
    auto top = std::make_unique<Vbench>(&context);
    top->step = (1u << latency) - 1;
    top->copy = copy;
    top->eval();  // the clock is seen low before it first rises
    for (size_t i = 0; i < count + latency; ++i) {
        if (i < count) top->a = left[i], top->b = right[i];
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        if (i + 1 >= latency && i + 1 - latency < count) sums[i + 1 - latency] = top->sum;
    }
}
