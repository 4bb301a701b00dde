#include "emission.h"
#include "wirings.h"

namespace olaf {

void Twin::set_switch(unsigned device, Switch program) { (device == 0 ? vnp4_1_ : vnp4_2_) = program; }

template <typename Offer>
void Twin::into_first(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Offer offer) {
    if (!ready()) {
        losses.no_pipeline++;
        return;
    }
    process(vnp4_1_, port, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
        if (out == ports_.queue) {
            if (!offer(bytes, size)) losses.no_shim++;
        } else if (out == ports_.cpu) {
            if (!engine_.punt(0, bytes, size)) losses.packet_ins++;
        } else {
            losses.misrouted++;
        }
    });
}

template <typename Send>
void Twin::into_second(unsigned port, const uint8_t *frame, size_t length, uint64_t now, Send send) {
    if (!ready()) {
        losses.no_pipeline++;
        return;
    }
    process(vnp4_2_, port, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
        if (out == ports_.cpu) {
            if (!engine_.punt(1, bytes, size)) losses.packet_ins++;
        } else if (out == ports_.queue || !send(out, bytes, size)) {
            losses.misrouted++;
        }
    });
}

bool Twin::send_out(unsigned port, const uint8_t *frame, size_t length) {
    return port >= 1 && port <= ports_.last_front && engine_.send(port, frame, length);
}

void Twin::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    into_first(port, frame, length, now,
               [&](const uint8_t *bytes, size_t size) { return queue.offer_now(bytes, size, now); });
}

void Twin::packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) {
    if (device == 0) {
        arrived(ports_.cpu, frame, length, now);
    } else {
        into_second(ports_.cpu, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
            return send_out(out, bytes, size);
        });
    }
}

uint64_t Twin::advance(uint64_t now) {
    return queue.advance(now, [&](const uint8_t *frame, size_t length, uint64_t, uint64_t) {
        into_second(ports_.queue, frame, length, now, [&](unsigned out, const uint8_t *bytes, size_t size) {
            return send_out(out, bytes, size);
        });
    });
}

void Twin::begin_replay(const QueueSettings &settings) {
    queue.restart(settings);
    base_ = queue.cycle();
}

void Twin::arrived_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time) {
    into_first(port, frame, length, time, [&](const uint8_t *bytes, size_t size) {
        return queue.offer_at(bytes, size, base_ + time / NS_PER_CYCLE);
    });
}

QueueStage::Leave Twin::leaving(const Deliver &deliver) {
    return [this, &deliver](const uint8_t *frame, size_t length, uint64_t, uint64_t last) {
        uint64_t time = (last + 1 - base_) * NS_PER_CYCLE;
        into_second(ports_.queue, frame, length, time, [&](unsigned out, const uint8_t *bytes, size_t size) {
            if (out < 1 || out > ports_.last_front) return false;
            deliver(time, out, bytes, size);
            return true;
        });
    };
}

void Twin::run_until(uint64_t time, const Deliver &deliver) {
    queue.run_until(base_ + time / NS_PER_CYCLE, leaving(deliver));
}

void Twin::finish(const Deliver &deliver) { queue.finish(leaving(deliver)); }

}  // namespace olaf
