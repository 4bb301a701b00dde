// A lock between the thread that moves packets, which is nearly always inside, and threads that rarely
// want in: the one that waits gets the next turn, however soon the packet thread comes back.
#pragma once
#include <mutex>

namespace olaf {

class Turnstile {
  public:
    class Turn {
      public:
        explicit Turn(Turnstile &turnstile) : work_(turnstile.work_, std::defer_lock) {
            std::lock_guard<std::mutex> next(turnstile.next_);
            work_.lock();
        }

      private:
        std::unique_lock<std::mutex> work_;
    };

  private:
    std::mutex next_;
    std::mutex work_;
};

}  // namespace olaf
