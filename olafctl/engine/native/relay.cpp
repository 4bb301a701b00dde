#include "wirings.h"

namespace olaf {

void Relay::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    if (port < FROM_FIRST) {
        if (!engine_.send(FIRST_FRONT + port, frame, length)) losses.misrouted++;
    } else if (port == FROM_FIRST) {
        if (!queue.offer_now(frame, length, now)) losses.no_shim++;
    } else if (port <= SECOND_FRONT || !engine_.send(port - SECOND_FRONT, frame, length)) {
        losses.misrouted++;
    }
}

uint64_t Relay::advance(uint64_t now) {
    return queue.advance(now, [&](const uint8_t *frame, size_t length, uint64_t, uint64_t) {
        if (!engine_.send(TO_SECOND, frame, length)) losses.misrouted++;
    });
}

}  // namespace olaf
