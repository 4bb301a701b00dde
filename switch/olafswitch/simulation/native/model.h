// What the bench needs of a Verilated model, so that the bench is compiled once for all of them.
#ifndef OLAF_BENCH_MODEL_H
#define OLAF_BENCH_MODEL_H
#include <cstdint>

class VerilatedContext;
class VerilatedVcdC;

struct BenchModel {
    virtual ~BenchModel() = default;
    virtual void *verilated() = 0;  // as Verilator made it
    virtual void eval() = 0;
    virtual void final() = 0;
    virtual void trace(VerilatedVcdC *waves) = 0;
    // Calls `each` with every port's name, place and bits.
    virtual void ports(void (*each)(void *to, const char *name, uint8_t *at, unsigned bits), void *to) = 0;
};

// Generated for each model.
BenchModel *bench_model(VerilatedContext *context);
#endif
