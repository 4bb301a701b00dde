// The Verilated OlafQueue between two blocks: frames with their shim in front go in and come out.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "../../../queue/native/queue_model.h"
#include "../../../queue/native/shard.h"

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
    // `frame` starts with the shim; `first` and `last` are the cycles of the first and last beat.
    using Leave = std::function<void(const uint8_t *frame, size_t length, uint64_t first, uint64_t last)>;

    explicit QueueStage(const std::string &library);
    ~QueueStage();

    // Wall clock. A queue that has something to do keeps to it as well as this machine can; an idle one
    // catches up when it is next wanted.
    bool offer_now(const uint8_t *frame, size_t length, uint64_t now);
    uint64_t advance(uint64_t now, const Leave &leave);
    void catch_up(uint64_t now);

    // Virtual time.
    bool offer_at(const uint8_t *frame, size_t length, uint64_t cycle);
    void run_until(uint64_t cycle, const Leave &leave);
    void finish(const Leave &leave);
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
    void send_all(const Leave &leave);

    uint64_t cycle() const { return library_.cycle(queue_); }
    uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);

  private:
    void take_all(const Leave &leave);
    const QueueLibrary &checked() const;
    uint64_t until_due(uint64_t ahead) const;

    QueueLibrary library_;
    olaf_queue *queue_;
    bool busy_ = false;
    uint64_t origin_ = 0;  // the ns at which cycle 0 was, or would have been
};

}  // namespace olaf
