#include "queue_stage.h"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

#include "processor_time.h"

namespace olaf {
namespace {

// How far the queue may run ahead of the wall clock: enough to pass a frame through at once, little
// enough for a limited output rate to hold over any time that a person or a test can see.
constexpr uint64_t LOOKAHEAD_CYCLES = 2500;
constexpr uint64_t SLICE_CYCLES = 50000;

}  // namespace

QueueLibrary::QueueLibrary(const std::string &path) : path_(path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    find(create, "olaf_queue_new");
    find(destroy, "olaf_queue_free");
    find(offer, "olaf_queue_offer");
    find(run, "olaf_queue_run");
    find(settle, "olaf_queue_settle");
    find(waiting, "olaf_queue_waiting");
    find(quiet, "olaf_queue_quiet");
    find(cycle, "olaf_queue_cycle");
    find(take, "olaf_queue_take");
    find(read, "olaf_queue_read");
    find(write, "olaf_queue_write");
    find(limit, "olaf_queue_limit", true);
    find(take_over, "olaf_queue_take_over", true);
}

template <typename Function> void QueueLibrary::find(Function &function, const char *name, bool optional) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && !optional) throw std::runtime_error(path_ + " has no " + name);
}

QueueStage::QueueStage(const std::string &library) : library_(library), queue_(library_.create()) {}

QueueStage::~QueueStage() { library_.destroy(queue_); }

bool QueueStage::offer_at(const uint8_t *frame, size_t length, uint64_t cycle) {
    if (length <= OLAF_SHIM_BYTES) return false;
    olaf_tuser tuser;
    olaf_shim_read(&tuser, frame);
    library_.offer(queue_, &tuser, frame + OLAF_SHIM_BYTES, length - OLAF_SHIM_BYTES, cycle);
    return true;
}

bool QueueStage::offer_now(const uint8_t *frame, size_t length, uint64_t now) {
    catch_up(now);
    busy_ = true;
    return offer_at(frame, length, cycle());
}

void QueueStage::catch_up(uint64_t now) {
    if (busy_) return;
    uint64_t wall = (now - origin_) / NS_PER_CYCLE;
    if (wall > cycle()) library_.run(queue_, wall);
}

uint64_t QueueStage::advance(uint64_t now, const Leave &leave) {
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
    // Slower than the hardware: let the clock of the model be late, rather than chase it for ever. A thread
    // that slept or had no core makes up for it: waiting costs the model nothing.
    if (late && cycle() + LOOKAHEAD_CYCLES < wall && processor_ns() - before > budget * NS_PER_CYCLE) {
        resume(now);
        return 0;
    }
    return until_due(ahead);
}

// The ns after which something may happen that is within reach: a limited rate is kept by sleeping, not by
// looking again and again.
uint64_t QueueStage::until_due(uint64_t ahead) const {
    uint64_t due = cycle() + quiet(SLICE_CYCLES);
    return due <= ahead ? 0 : (due - ahead) * NS_PER_CYCLE;
}

void QueueStage::run_until(uint64_t cycle, const Leave &leave) {
    library_.run(queue_, cycle);
    take_all(leave);
}

void QueueStage::finish(const Leave &leave) {
    while (library_.settle(queue_, SLICE_CYCLES) >= SLICE_CYCLES) take_all(leave);
    take_all(leave);
}

void QueueStage::restart(const QueueSettings &settings) {
    library_.destroy(queue_);
    queue_ = library_.create();
    for (size_t i = 0; i + 1 < settings.writes.size(); i += 2) {
        write(settings.writes[i], settings.writes[i + 1]);
        while (read(settings.busy)) continue;  // the clock runs with each access
    }
}

const QueueLibrary &QueueStage::checked() const {
    if (!library_.limit) throw std::runtime_error("the queue cannot be one of several shards");
    return library_;
}

void QueueStage::take_over(QueueStage &from, uint32_t first, uint32_t last) {
    checked().take_over(queue_, from.queue_, first, last);
    busy_ = from.busy_ = true;
}

void QueueStage::send_all(const Leave &leave) {
    library_.run(queue_, cycle() + LOOKAHEAD_CYCLES);
    take_all(leave);
}

uint32_t QueueStage::read(uint32_t offset) { return library_.read(queue_, offset); }

void QueueStage::write(uint32_t offset, uint32_t value) {
    library_.write(queue_, offset, value);
    busy_ = true;
}

void QueueStage::take_all(const Leave &leave) {
    olaf_tuser tuser;
    uint8_t *frame;
    uint64_t first, last;
    while (size_t length = library_.take(queue_, &tuser, &frame, &first, &last)) {
        uint8_t *begin = frame - OLAF_SHIM_BYTES;
        olaf_shim_write(&tuser, begin);
        leave(begin, OLAF_SHIM_BYTES + length, first, last);
    }
}

}  // namespace olaf
