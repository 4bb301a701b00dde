// The Verilated OlafQueue between two blocks: frames with their shim in front go in and come out.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "../../../queue/native/queue_model.h"
#include "../../../queue/native/shard.h"
#include "olafswitch/p4/native/switch_abi.h"
#include "processor_time.h"

namespace olaf {

constexpr uint64_t NS_PER_CYCLE = 4;

// The functions of a shared library that holds one geometry of the queue.
class QueueLibrary {
  public:
    explicit QueueLibrary(const std::string &path);  // throws std::runtime_error

    decltype(&olaf_queue_new) create;
    decltype(&olaf_queue_free) destroy;
    decltype(&olaf_queue_offer) offer;
    decltype(&olaf_queue_run) run;
    decltype(&olaf_queue_settle) settle;
    decltype(&olaf_queue_waiting) waiting;
    decltype(&olaf_queue_quiet) quiet;
    decltype(&olaf_queue_cycle) cycle;
    decltype(&olaf_queue_take) take;
    decltype(&olaf_queue_read) read;
    decltype(&olaf_queue_write) write;
    decltype(&olaf_queue_room) room;    // null where a queue copies each frame
    decltype(&olaf_queue_limit) limit;  // null where a queue is never one of several
    decltype(&olaf_queue_take_over) take_over;

  private:
    template <typename Function> void find(Function &function, const char *name, bool optional = false);

    void *handle_;
    std::string path_;
};

// The settings of a queue as register writes.
struct QueueSettings {
    std::vector<uint32_t> writes;  // offset, value, offset, value, …
    uint32_t busy;                 // the register that is not 0 while a write is still at work
};

class QueueStage {
  public:
    // What leaves goes to `leave(frame, length, last)`: the frame starts with the shim, `last` is the cycle
    // of its last beat.
    explicit QueueStage(const std::string &library);
    ~QueueStage();

    // Wall clock. A queue that has something to do keeps to it as well as this machine can; an idle one
    // catches up when it is next wanted.
    bool offer_now(const uint8_t *frame, size_t length, uint64_t now) {
        if (!busy_) catch_up(now);
        busy_ = true;
        return offer_at(frame, length, 0);
    }
    template <typename Leave> uint64_t advance(uint64_t now, const Leave &leave) {
        if (!busy_) return UINT64_MAX;
        uint64_t wall = (now - origin_) / NS_PER_CYCLE;
        uint64_t ahead = wall + LOOKAHEAD_CYCLES;
        if (ahead <= cycle()) return until_due(ahead);
        uint64_t budget = std::min(ahead - cycle(), SLICE_CYCLES);
        bool late = cycle() + LOOKAHEAD_CYCLES < wall;
        uint64_t before = late ? processor_ns() : 0;
        busy_ = library_.settle(queue_, budget) >= budget;
        take_all(leave);
        if (!busy_) return UINT64_MAX;
        // Slower than the hardware: let the clock of the model be late, rather than chase it for ever. A
        // thread that slept or had no core makes up for it: waiting costs the model nothing.
        if (late && cycle() + LOOKAHEAD_CYCLES < wall && processor_ns() - before > budget * NS_PER_CYCLE) {
            resume(now);
            return 0;
        }
        return until_due(ahead);
    }
    void catch_up(uint64_t now);

    // Virtual time.
    bool offer_at(const uint8_t *frame, size_t length, uint64_t cycle) {
        if (length <= OLAF_SHIM_BYTES) return false;
        library_.offer(queue_, frame, length, cycle);
        return true;
    }
    // Memory for the next frame that is offered, which is kept there; null where it is copied.
    p4_lent room() const { return {room_->bytes, room_->length}; }
    template <typename Leave> void run_until(uint64_t cycle, const Leave &leave) {
        library_.run(queue_, cycle);
        take_all(leave);
    }
    template <typename Leave> void finish(const Leave &leave) {
        while (library_.settle(queue_, SLICE_CYCLES) >= SLICE_CYCLES) take_all(leave);
        take_all(leave);
    }
    bool waiting() const { return library_.waiting(queue_); }  // whether time alone makes something happen

    // Cycles, of `most`, for which nothing happens but the passing of time.
    uint64_t quiet(uint64_t most) const { return library_.quiet(queue_, cycle() + most); }

    // A new queue with these settings, its clock just started.
    void restart(const QueueSettings &settings);

    // Back to the wall clock: the current cycle is `now`.
    void resume(uint64_t now) { origin_ = now - cycle() * NS_PER_CYCLE; }

    // As one of several; throws std::runtime_error where it cannot be.
    void limit(uint32_t slots) { checked().limit(queue_, slots); }
    void take_over(QueueStage &from, uint32_t first, uint32_t last);
    // What is decided leaves, however far that is ahead of the clock.
    template <typename Leave> void send_all(const Leave &leave) {
        run_until(cycle() + LOOKAHEAD_CYCLES, leave);
    }

    uint64_t cycle() const { return library_.cycle(queue_); }
    uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);

  private:
    // How far the queue may run ahead of the wall clock: enough to pass a frame through at once, little
    // enough for a limited output rate to hold over any time that a person or a test can see.
    static constexpr uint64_t LOOKAHEAD_CYCLES = 2500;
    static constexpr uint64_t SLICE_CYCLES = 50000;

    template <typename Leave> void take_all(const Leave &leave) {
        const uint8_t *frame;
        uint64_t first, last;
        while (size_t length = library_.take(queue_, &frame, &first, &last)) leave(frame, length, last);
    }
    void create_queue();
    const QueueLibrary &checked() const;
    uint64_t until_due(uint64_t ahead) const;

    QueueLibrary library_;
    olaf_queue *queue_;
    const olaf_room *room_;
    bool busy_ = false;
    uint64_t origin_ = 0;  // the ns at which cycle 0 was, or would have been
};

}  // namespace olaf
