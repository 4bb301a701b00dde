// The three things that an engine can have between its ports.
#pragma once
#include <functional>
#include <memory>

#include "engine.h"
#include "queue_stage.h"

namespace olaf {

struct WiredPorts {
    unsigned cpu;
    unsigned queue;
    unsigned last_front;
};

// VNP4₁ → OlafQueue → VNP4₂: device 0 and device 1.
class Twin final : public Wiring {
  public:
    // `time` is virtual, in ns.
    using Deliver = std::function<void(uint64_t time, unsigned port, const uint8_t *frame, size_t length)>;

    Twin(Engine &engine, WiredPorts ports, const std::string &queue_library)
        : queue(queue_library), engine_(engine), ports_(ports) {}

    bool ready() const override { return vnp4_1_ && vnp4_2_; }
    void set_switch(unsigned device, Switch program) override;
    void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) override;
    void packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) override;
    uint64_t advance(uint64_t now) override;

    // Virtual time: a frame's first beat reaches the queue at the cycle of its arrival, and what leaves is
    // given to `deliver` with the time at which its last beat has left, instead of being sent.
    void begin_replay(const QueueSettings &settings);
    void arrived_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time);
    void run_until(uint64_t time, const Deliver &deliver);
    void finish(const Deliver &deliver);
    unsigned last_front() const { return ports_.last_front; }

    QueueStage queue;

  private:
    template <typename Offer>
    void into_first(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Offer offer);
    template <typename Send>
    void into_second(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Send send);
    bool send_out(unsigned port, const uint8_t *frame, size_t length);
    QueueStage::Leave leaving(const Deliver &deliver);

    Engine &engine_;
    WiredPorts ports_;
    Switch vnp4_1_, vnp4_2_;
    uint64_t base_ = 0;  // the cycle of virtual time 0
};

// One P4 switch with all its ports: device 0.
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

// OlafQueue between two switches that are processes of their own, and the cables between these and the
// front ports. A switch that listened at a front port itself would also hear what the other one sends
// there, so each has a cable of its own for every front port.
class Relay final : public Wiring {
  public:
    static constexpr unsigned FROM_FIRST = 500;     // VNP4₁'s queue port
    static constexpr unsigned TO_SECOND = 501;      // VNP4₂'s queue port
    static constexpr unsigned FIRST_FRONT = 1000;   // + n: VNP4₁'s front port n
    static constexpr unsigned SECOND_FRONT = 2000;  // + n: VNP4₂'s front port n

    Relay(Engine &engine, const std::string &queue_library) : queue(queue_library), engine_(engine) {}

    bool ready() const override { return true; }
    void set_switch(unsigned, Switch) override {}
    void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) override;
    void packet_out(unsigned, const uint8_t *, size_t, uint64_t) override {}
    uint64_t advance(uint64_t now) override;

    QueueStage queue;

  private:
    Engine &engine_;
};

}  // namespace olaf
