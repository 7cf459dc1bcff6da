// A process beside the recorder that gets what is sent to their process group.
//
// A signal to the whole group reaches the job without our help; one to the recorder alone does not. Nothing in a signal
// says which of the two it was. The witness is a member of the group to whom nobody sends anything, so what it gets was
// sent to the group.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

namespace dcmt::recorder {

/// How many of each signal, by its number.
using SignalCounts = std::array<std::uint8_t, 65>;

/// Thread-safety: none.
class GroupWitness {
 public:
  /// Starts the process. All signals must be blocked and no other thread may run. It holds no descriptor of ours but
  /// its own, and ends when this process does.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// What the group has got since the last call. False if the witness is gone.
  bool take(SignalCounts& counts);

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
};

}  // namespace dcmt::recorder
