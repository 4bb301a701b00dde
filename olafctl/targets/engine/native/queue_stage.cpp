#include "queue_stage.h"

#include <dlfcn.h>

#include <stdexcept>

namespace olaf {

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
    find(room, "olaf_queue_room", true);
    find(limit, "olaf_queue_limit", true);
    find(take_over, "olaf_queue_take_over", true);
}

template <typename Function> void QueueLibrary::find(Function &function, const char *name, bool optional) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && !optional) throw std::runtime_error(path_ + " has no " + name);
}

QueueStage::QueueStage(const std::string &library) : library_(library) { create_queue(); }

void QueueStage::create_queue() {
    static constexpr olaf_room nowhere{};
    queue_ = library_.create();
    room_ = library_.room ? library_.room(queue_) : &nowhere;
}

QueueStage::~QueueStage() { library_.destroy(queue_); }

void QueueStage::catch_up(uint64_t now) {
    if (busy_) return;
    uint64_t wall = (now - origin_) / NS_PER_CYCLE;
    if (wall > cycle()) library_.run(queue_, wall);
}

// The ns after which something may happen that is within reach: a limited rate is kept by sleeping, not by
// looking again and again.
uint64_t QueueStage::until_due(uint64_t ahead) const {
    uint64_t due = cycle() + quiet(SLICE_CYCLES);
    return due <= ahead ? 0 : (due - ahead) * NS_PER_CYCLE;
}

void QueueStage::restart(const QueueSettings &settings) {
    library_.destroy(queue_);
    create_queue();
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

uint32_t QueueStage::read(uint32_t offset) { return library_.read(queue_, offset); }

void QueueStage::write(uint32_t offset, uint32_t value) {
    library_.write(queue_, offset, value);
    busy_ = true;
}

}  // namespace olaf
