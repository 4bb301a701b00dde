#include "lone_switch.h"

#include "emission.h"

namespace olaf {

void LoneSwitch::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    if (!program_) {
        losses.no_pipeline++;
        return;
    }
    process(program_, port, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
        if (out == cpu_port_) {
            Source source = source_of(port, frame, length);
            if (!engine_.punt(0, source, bytes, size, now)) losses.packet_ins++;
        } else if (!engine_.send(out, bytes, size)) {
            losses.misrouted++;
        }
    });
}

void LoneSwitch::packet_out(unsigned, const uint8_t *frame, size_t length, uint64_t now) {
    arrived(cpu_port_, frame, length, now);
}

}  // namespace olaf
