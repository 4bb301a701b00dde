// Failures across a C interface.
#pragma once
#include <exception>
#include <string>

namespace olaf {

inline thread_local std::string last_failure;

// Null, or the message of what failed, valid until the thread's next call.
template <typename Action> const char *attempt(Action action) {
    try {
        action();
        return nullptr;
    } catch (const std::exception &failure) {
        last_failure = failure.what();
        return last_failure.c_str();
    }
}

}  // namespace olaf
