// Runs one packet through a compiled program, each packet that leaves going to a callable.
#pragma once
#include "engine.h"

namespace olaf {

// `leave(port, frame, length)` is called from inside the program; it must not run the same program.
template <typename Leave> void process(const Switch &program, unsigned port, const uint8_t *frame,
                                       size_t length, uint64_t now, Leave leave) {
    p4_emit_fn emit = [](void *context, uint32_t out, const uint8_t *bytes, size_t size) {
        (*static_cast<Leave *>(context))(unsigned(out), bytes, size);
    };
    program.process(program.state, port, frame, length, now, emit, &leave);
}

}  // namespace olaf
