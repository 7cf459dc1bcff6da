// A process beside the recorder that gets the signals sent to their process group.
//
// A signal to the whole group also reaches the job; a signal to the recorder alone does not. A signal does not say
// which of the two it was. The witness is a member of the group, and nobody sends signals to it alone, so all signals
// that it gets were sent to the group.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

namespace dcmt::recorder {

/// Counts of signals, by number.
using SignalCounts = std::array<std::uint8_t, 65>;

/// Thread-safety: none.
class GroupWitness {
 public:
  /// Starts the process. All signals must be blocked, and no other thread may run. It holds none of our descriptors
  /// except its own, and ends when this process ends.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// The group's signals since the last call. False if the witness is gone.
  bool receive(SignalCounts& counts);

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
};

}  // namespace dcmt::recorder
