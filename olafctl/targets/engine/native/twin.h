// VNP4₁ → OlafQueue → VNP4₂: one engine of a network. Its devices are 2 · place and 2 · place + 1.
#pragma once
#include "olafswitch/engine/native/emission.h"
#include "queue_wiring.h"

namespace olaf {

struct WiredPorts {
    unsigned cpu;
    unsigned queue;
    unsigned last_front;
};

class Twin {
  public:
    Twin(Engine &engine, QueueWiring &wiring, WiredPorts ports, unsigned place,
         const std::string &queue_library)
        : queue(queue_library), engine_(engine), wiring_(wiring), ports_(ports), place_(place) {}

    bool ready() const { return vnp4_1_ && vnp4_2_; }
    void set_switch(unsigned block, Switch program) { (block == 0 ? vnp4_1_ : vnp4_2_) = program; }

    // A frame at a port: what is for the queue goes to `offer(frame, length)`, false when it cannot take it.
    template <typename Offer>
    void into_first(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Offer offer) {
        if (!ready()) {
            wiring_.losses.no_pipeline++;
            return;
        }
        process(vnp4_1_, port, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
            if (out == ports_.queue) {
                if (!offer(bytes, size)) wiring_.no_shim++;
            } else if (out == ports_.cpu) {
                Source source = source_of(port, frame, length);
                if (!engine_.punt(2 * place_, source, bytes, size, now)) wiring_.losses.packet_ins++;
            } else {
                wiring_.losses.misrouted++;
            }
        });
    }

    // A frame from the queue or the CPU: what leaves goes to `send(port, frame, length)`, false when there is
    // no such port.
    template <typename Send>
    void into_second(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Send send) {
        if (!ready()) {
            wiring_.losses.no_pipeline++;
            return;
        }
        process(vnp4_2_, port, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
            if (out == ports_.cpu) {
                Source source = source_of(port, frame, length);
                if (!engine_.punt(2 * place_ + 1, source, bytes, size, now)) wiring_.losses.packet_ins++;
            } else if (out < 1 || out > ports_.last_front || !send(out, bytes, size)) {
                wiring_.losses.misrouted++;
            }
        });
    }

    QueueStage queue;
    uint64_t base = 0;  // the cycle of virtual time 0

  private:
    Engine &engine_;
    QueueWiring &wiring_;
    WiredPorts ports_;
    unsigned place_;
    Switch vnp4_1_, vnp4_2_;
};

}  // namespace olaf
