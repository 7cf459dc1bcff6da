// A recording leaves signals blocked.
#pragma once

#include <signal.h>

namespace dcmt::cli {

/// Restores the signal mask: run() leaves signals blocked in this process, which continues for minutes, and its
/// children.
class SignalsAsBefore {
 public:
  SignalsAsBefore() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalsAsBefore() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsAsBefore(const SignalsAsBefore&) = delete;
  SignalsAsBefore& operator=(const SignalsAsBefore&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace dcmt::cli
