// Hands every frame that comes in at an interface to its queue's AF_XDP socket.
#pragma once
#include <string>
#include <vector>

#include "descriptor.h"

namespace olaf {

// As long as it lives; the kernel takes the program away with the process, however that ends.
class XdpRedirect {
  public:
    // `sockets` by queue; `driver`: in its own way, if it has one. Throws std::runtime_error.
    XdpRedirect(const std::string &interface, const std::vector<int> &sockets, bool driver);

  private:
    Descriptor link_;
};

}  // namespace olaf
