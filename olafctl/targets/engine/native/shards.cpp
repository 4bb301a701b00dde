#include "shards.h"

#include <algorithm>

#include "../../../queue/native/registers.h"
#include "network.h"

namespace olaf {
namespace {

constexpr uint32_t COUNTERS_END = OLAF_COUNTERS_AT + 8 * OLAF_COUNTERS;

bool is_counter(uint32_t offset) {
    return offset >= OLAF_COUNTERS_AT + 8 && offset < COUNTERS_END;  // all but the cycle
}

bool is_status(uint32_t offset) {
    return offset >= OLAF_REGISTER_OCCUPANCY && offset <= OLAF_REGISTER_ACCUMULATING;
}

bool is_got(uint32_t offset) {
    return offset >= OLAF_REGISTER_GET_MODE && offset <= OLAF_REGISTER_GET_NEWEST;
}

}  // namespace

uint32_t Shards::read(uint32_t offset) const {
    switch (offset) {
        case OLAF_REGISTER_RATE: return rate_;
        case OLAF_REGISTER_ACCUMULATE_QUOTA: return *quota_;
        default: break;
    }
    if (is_counter(offset)) return uint32_t(sum(offset & ~7u) >> (offset & 4 ? 32 : 0));
    if (is_status(offset)) return uint32_t(sum(offset));
    return networks_[is_got(offset) ? of(got_of_) : 0]->queue_of(0).read(offset);
}

void Shards::write(uint32_t offset, uint32_t value) {
    QueueStage &first = networks_.front()->queue_of(0);
    switch (offset) {
        case OLAF_REGISTER_RATE: rate_ = value; return divide();
        case OLAF_REGISTER_ACCUMULATE_QUOTA: quota_ = value; return divide();
        case OLAF_REGISTER_COMMAND: break;
        default: return write_all(offset, value);
    }
    if (value == OLAF_COMMAND_GET) got_of_ = first.read(OLAF_REGISTER_RANGE_FIRST);
    write_all(offset, value);
}

void Shards::divide() {
    const uint32_t slots = networks_.front()->queue_of(0).read(OLAF_REGISTER_SLOTS);
    if (!quota_) quota_ = networks_.front()->queue_of(0).read(OLAF_REGISTER_ACCUMULATE_QUOTA);
    for (unsigned shard = 0; shard < count_; shard++) {
        QueueStage &queue = networks_[shard]->queue_of(0);
        queue.limit(part(slots, shard));
        // A rate of 0 does not limit; a part of one does.
        queue.write(OLAF_REGISTER_RATE, rate_ ? std::max(part(rate_, shard), 1u) : 0);
        queue.write(OLAF_REGISTER_ACCUMULATE_QUOTA, *quota_ ? std::max(part(*quota_, shard), 1u) : 0);
    }
}

void Shards::catch_up(uint64_t now) {
    for (Network *network : networks_) network->queue_of(0).catch_up(now);
}

void Shards::restart_others(const QueueSettings &settings) {
    for (unsigned shard = 1; shard < count_; shard++) networks_[shard]->queue_of(0).restart(settings);
}

void Shards::resume_others(uint64_t now) {
    for (unsigned shard = 1; shard < count_; shard++) networks_[shard]->queue_of(0).resume(now);
    divide();
}

uint32_t Shards::part(uint32_t whole, unsigned shard) const {
    return whole / count_ + (shard < whole % count_ ? 1 : 0);
}

// Frames between shards first arrive where their indices are now, and what leaves there is on its way before
// anything of the same flow can leave elsewhere.
void Shards::place(unsigned first, unsigned last, unsigned to) {
    if (owners_.size() <= last) owners_.resize(last + 1);
    for (unsigned index = first; index <= last;) {
        const unsigned from = owners_[index], begin = index;
        while (index <= last && owners_[index] == from) index++;
        if (from == to) continue;
        for (Network *network : networks_) {
            for (; network->more(); network->send_all()) network->take_in();
        }
        networks_[to]->queue_of(0).take_over(networks_[from]->queue_of(0), begin, index - 1);
        networks_[from]->send_all();
        std::fill(owners_.begin() + begin, owners_.begin() + index, uint8_t(to));
    }
}

void Shards::write_all(uint32_t offset, uint32_t value) {
    for (Network *network : networks_) network->queue_of(0).write(offset, value);
}

uint64_t Shards::sum(uint32_t offset) const {
    uint64_t found = 0;
    for (Network *network : networks_) {
        QueueStage &queue = network->queue_of(0);
        found += queue.read(offset);
        if (is_counter(offset)) found += uint64_t(queue.read(offset + 4)) << 32;
    }
    return found;
}

}  // namespace olaf
