// How long a port waits for a host's side that takes no more.
#pragma once
#include <algorithm>
#include <chrono>
#include <thread>

namespace olaf {

// A tenth of a millisecond each time, while the frames that wait for a host's processor are as many as may. A
// host that takes nothing at all (it is down, or its MTU too small) must not stop the engine: the waits come
// to an end, and each frame that is taken allows for one more.
class Patience {
  public:
    // Whether it is worth trying again now.
    bool wait() {
        if (left_ == 0) return false;
        left_--;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        return true;
    }

    void taken(int frames) { left_ = std::min(MOST, left_ + frames); }

  private:
    static constexpr int MOST = 1000;
    int left_ = MOST;
};

}  // namespace olaf
