// A virtual-time session over a stream socket: records in, records out, until the peer has sent all.
#pragma once
#include <cstdint>
#include <vector>

#include "network.h"

namespace olaf {

// One record each way: this header, native byte order, then the frame.
struct ReplayRecord {
    uint64_t time;  // ns
    uint32_t port;
    uint32_t length;
};

// The port of a record that is no frame. One in asks to run to its `time`; it is answered, after all that
// left up to then, by one out with the same time and an Answer.
constexpr uint32_t ADVANCE = 0;

struct Answer {
    uint64_t next;     // ns before which nothing leaves unless something else arrives; NEVER: nothing will
    uint64_t engine;   // ns of processor time that the session has spent in P4 and queues so far
    uint64_t session;  // and in all
};

// The last record out: `port` 0 for success; else `length` bytes of message follow.
constexpr uint64_t END_OF_REPLAY = UINT64_MAX;

// Runs the whole session on an engine that is a network, each of its queues with settings of its own; throws
// std::runtime_error when the peer goes away.
void replay(Engine &engine, int socket, const std::vector<QueueSettings> &settings);

}  // namespace olaf
