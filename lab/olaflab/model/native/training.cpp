// The C interface (training.h): handles on Iterations.

#include "training.h"

#include <algorithm>

#include "iterations.h"

using olaf::Iterations;

void *olaf_training_new(const OlafTraining *training, const uint32_t *messages) {
    return new Iterations(*training, messages);
}

void olaf_training_free(void *training) { delete static_cast<Iterations *>(training); }

uint32_t olaf_training_run(void *training) { return static_cast<Iterations *>(training)->Run() ? 1 : 0; }

void olaf_training_updates(void *training, int64_t *updates) {
    const std::vector<std::int64_t> &all = static_cast<Iterations *>(training)->updates();
    std::copy(all.begin(), all.end(), updates);
}

void olaf_training_staleness(void *training, uint64_t *histogram) {
    const std::uint64_t *counted = static_cast<Iterations *>(training)->staleness();
    std::copy(counted, counted + OLAF_TRAINING_STALENESS, histogram);
}

uint64_t olaf_training_discarded(void *training) { return static_cast<Iterations *>(training)->discarded(); }

uint64_t olaf_training_dropped(void *training) { return static_cast<Iterations *>(training)->dropped(); }

uint64_t olaf_training_events(void *training) { return static_cast<Iterations *>(training)->events(); }
