// One P4 switch between all the ports of an engine.
#pragma once
#include "engine.h"

namespace olaf {

// Device 0.
class LoneSwitch final : public Wiring {
  public:
    LoneSwitch(Engine &engine, unsigned cpu_port) : engine_(engine), cpu_port_(cpu_port) {}

    bool ready() const override { return bool(program_); }
    void set_switch(unsigned, Switch program) override { program_ = program; }
    void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) override;
    void packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) override;
    uint64_t advance(uint64_t) override { return NEVER; }

  private:
    Engine &engine_;
    unsigned cpu_port_;
    Switch program_;
};

}  // namespace olaf
