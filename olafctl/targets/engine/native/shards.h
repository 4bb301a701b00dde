// One engine as several shards, each with a thread and a queue of its own: who has which index, what is on
// its way from one to another, and the registers of all as those of one queue.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "queue_stage.h"
#include "ring.h"

namespace olaf {

class Network;

class Shards {
  public:
    explicit Shards(unsigned count) : count_(count), rings_(count * count) {}

    // In the order of their lanes; the first one's geometry is that of all.
    void add(Network &network) { networks_.push_back(&network); }

    unsigned count() const { return count_; }
    // With the turn of any shard held.
    unsigned of(unsigned index) const { return index < owners_.size() ? owners_[index] : 0; }
    Ring &between(unsigned from, unsigned to) { return rings_[from * count_ + to]; }

    // With the turns of all held.
    uint32_t read(uint32_t offset) const;
    void write(uint32_t offset, uint32_t value);
    void catch_up(uint64_t now);
    // The indices are that shard's from now on, with all that waits in others; nothing is lost or overtaken.
    void place(unsigned first, unsigned last, unsigned shard);

    // From when all are there: slots, output rate and quota are divided among them.
    void divide();
    // In virtual time the first is the whole engine, and the others are empty.
    void restart_others(const QueueSettings &settings);
    void resume_others(uint64_t now);

  private:
    void write_all(uint32_t offset, uint32_t value);
    uint64_t sum(uint32_t offset) const;
    uint32_t part(uint32_t whole, unsigned shard) const;

    unsigned count_;
    std::vector<Network *> networks_;
    std::deque<Ring> rings_;
    std::vector<uint8_t> owners_;    // by index
    uint32_t rate_ = 0;              // of all
    std::optional<uint32_t> quota_;  // of all; each has its own at first
    uint32_t got_of_ = 0;            // the index of the last GET
};

}  // namespace olaf
