// What an engine has between its ports here: queues, and links between ports.
#pragma once
#include "cable.h"
#include "olafswitch/engine/native/engine.h"
#include "queue_stage.h"

namespace olaf {

class QueueWiring : public Wiring {
  public:
    virtual bool has(unsigned place) const = 0;
    virtual QueueStage &queue_of(unsigned place) = 0;
    virtual void catch_up(unsigned place, uint64_t now) { queue_of(place).catch_up(now); }
    virtual uint32_t read(unsigned place, uint32_t offset) { return queue_of(place).read(offset); }
    virtual void write(unsigned place, uint32_t offset, uint32_t value) {
        queue_of(place).write(offset, value);
    }
    bool stats(unsigned port, PortStats &stats) const override { return cables.stats(port, stats); }

    Cables cables;
    uint64_t no_shim = 0;         // frames too short for the shim between the blocks and the queue
    uint64_t between_shards = 0;  // frames for another shard that does not keep up
};

}  // namespace olaf
