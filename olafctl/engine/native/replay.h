// A virtual-time session over a stream socket: records in, records out, until the peer has sent all.
#pragma once
#include <cstdint>
#include <vector>

#include "wirings.h"

namespace olaf {

// One record each way: this header, native byte order, then the frame.
struct ReplayRecord {
    uint64_t time;  // ns
    uint32_t port;
    uint32_t length;
};

// The last record out: `port` 0 for success; else `length` bytes of message follow.
constexpr uint64_t END_OF_REPLAY = UINT64_MAX;

// Runs the whole session; throws std::runtime_error when the peer goes away.
void replay(Engine &engine, int socket, const QueueSettings &settings);

}  // namespace olaf
