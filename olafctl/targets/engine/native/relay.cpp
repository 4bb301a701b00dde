#include "relay.h"

namespace olaf {

Relay::Relay(Engine &engine, const std::vector<std::string> &queue_libraries) : engine_(engine) {
    for (const std::string &library : queue_libraries)
        queues_.push_back(std::make_unique<QueueStage>(library));
}

void Relay::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    if (port < FIRST_FRONT) {
        into_first(port, frame, length);
    } else if (port >= FROM_FIRST && has(port - FROM_FIRST)) {
        if (!queues_[port - FROM_FIRST]->offer_now(frame, length, now)) no_shim++;
    } else if (port <= SECOND_FRONT || port >= FROM_FIRST) {
        losses.misrouted++;
    } else if (Cable *cable = cables.from(port - SECOND_FRONT)) {
        cable->put(frame, length, now);
    } else if (!engine_.send(port - SECOND_FRONT, frame, length)) {
        losses.misrouted++;
    }
}

uint64_t Relay::advance(uint64_t now) {
    uint64_t wait = cables.advance(
        now, [&](unsigned port, const uint8_t *frame, size_t length) { into_first(port, frame, length); });
    for (unsigned place = 0; place < queues_.size(); place++) {
        auto leave = [&](const uint8_t *frame, size_t length, uint64_t) {
            if (!engine_.send(TO_SECOND + place, frame, length)) losses.misrouted++;
        };
        wait = std::min(wait, queues_[place]->advance(now, leave));
    }
    return wait;
}

void Relay::into_first(unsigned port, const uint8_t *frame, size_t length) {
    if (!engine_.send(FIRST_FRONT + port, frame, length)) losses.misrouted++;
}

}  // namespace olaf
