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
    bool stats(unsigned port, PortStats &stats) const override { return cables.stats(port, stats); }

    Cables cables;
    uint64_t no_shim = 0;  // frames too short for the shim between the blocks and the queue
};

}  // namespace olaf
