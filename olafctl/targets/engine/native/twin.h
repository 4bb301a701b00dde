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
    void set_switch(unsigned block, Switch program) {
        (block == 0 ? vnp4_1_ : vnp4_2_) = program;
        if (block == 0) lent_ = program.state ? reinterpret_cast<p4_lent *>(program.state) : &nowhere_;
    }

    // A frame at a port: what is for the queue goes to `offer(frame, length)`, false when it cannot take it.
    template <typename Offer>
    void into_first(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Offer offer) {
        if (!ready()) {
            wiring_.losses.no_pipeline++;
            return;
        }
        *lent_ = queue.room();
        auto leave = [=, this](unsigned out, const uint8_t *bytes, size_t size) {
            if (out == ports_.queue) {
                lent_->bytes = nullptr;
                if (!offer(bytes, size)) wiring_.no_shim++;
            } else {
                punt(0, out, port, frame, length, bytes, size, now);
            }
        };
        process(vnp4_1_, port, frame, length, now, leave);
        lent_->bytes = nullptr;
    }

    // A frame from the queue or the CPU: what leaves goes to `send(port, frame, length)`, false when there is
    // no such port.
    template <typename Send>
    void into_second(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Send send) {
        if (!ready()) {
            wiring_.losses.no_pipeline++;
            return;
        }
        auto leave = [=, this](unsigned out, const uint8_t *bytes, size_t size) {
            if (out < 1 || out > ports_.last_front || !send(out, bytes, size))
                punt(1, out, port, frame, length, bytes, size, now);
        };
        process(vnp4_2_, port, frame, length, now, leave);
    }

    QueueStage queue;
    uint64_t base = 0;  // the cycle of virtual time 0

  private:
    // What leaves a block by no port but, perhaps, the CPU's; `frame` is what came in at `port`.
    [[gnu::noinline]] void punt(unsigned block, unsigned out, unsigned port, const uint8_t *frame,
                                size_t length, const uint8_t *bytes, size_t size, uint64_t now) {
        if (out != ports_.cpu)
            wiring_.losses.misrouted++;
        else if (!engine_.punt(2 * place_ + block, source_of(port, frame, length), bytes, size, now))
            wiring_.losses.packet_ins++;
    }

    Engine &engine_;
    QueueWiring &wiring_;
    WiredPorts ports_;
    unsigned place_;
    Switch vnp4_1_, vnp4_2_;
    p4_lent nowhere_{}, *lent_ = &nowhere_;
};

}  // namespace olaf
