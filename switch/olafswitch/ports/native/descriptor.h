// A file descriptor that closes itself.
#pragma once
#include <unistd.h>

namespace olaf {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(fd_); }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    int fd() const { return fd_; }

  private:
    int fd_;
};

}  // namespace olaf
