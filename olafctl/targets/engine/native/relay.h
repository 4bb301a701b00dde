// The queues alone, between switches that are processes of their own.
#pragma once
#include <memory>

#include "queue_wiring.h"

namespace olaf {

// For each engine OlafQueue between two switches that are processes of their own, and the cables between
// these and the front ports. A switch that listened at a front port itself would also hear what the other one
// sends there, so each has a cable of its own for every front port.
class Relay final : public QueueWiring {
  public:
    static constexpr unsigned FIRST_FRONT = 1000;   // + n: VNP4₁'s front port n
    static constexpr unsigned SECOND_FRONT = 2000;  // + n: VNP4₂'s front port n
    static constexpr unsigned FROM_FIRST = 10000;   // + n: the queue port of the n-th engine's VNP4₁
    static constexpr unsigned TO_SECOND = 20000;    // + n: the queue port of its VNP4₂

    Relay(Engine &engine, const std::vector<std::string> &queue_libraries);

    bool ready() const override { return true; }
    void set_switch(unsigned, Switch) override {}
    void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) override;
    void packet_out(unsigned, const uint8_t *, size_t, uint64_t) override {}
    uint64_t advance(uint64_t now) override;

    QueueStage &queue_of(unsigned place) override { return *queues_.at(place); }
    bool has(unsigned place) const override { return place < queues_.size(); }

  private:
    void into_first(unsigned port, const uint8_t *frame, size_t length);

    Engine &engine_;
    std::vector<std::unique_ptr<QueueStage>> queues_;
};

}  // namespace olaf
