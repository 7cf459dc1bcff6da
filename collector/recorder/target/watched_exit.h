// How a process ended that is not a child of this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dcmt::recorder {

/// A handle of one process, which stays valid when its number is used again. Movable.
class WatchedExit {
 public:
  WatchedExit() = default;
  /// Does nothing if there is no such process, or if the kernel has no such handles.
  explicit WatchedExit(pid_t pid);
  ~WatchedExit();
  WatchedExit(WatchedExit&& other) noexcept;
  WatchedExit& operator=(WatchedExit&& other) noexcept;

  /// True if it has ended with all of its threads; nullopt if it is not watched.
  [[nodiscard]] std::optional<bool> has_ended() const;
  /// Its wait status, once it has ended. From Linux 6.15 on the kernel keeps it with the handle; before that, it is
  /// known only while the parent has not asked for it.
  [[nodiscard]] std::optional<int> wait_status() const;

 private:
  pid_t pid_ = 0;
  int fd_ = -1;
};

/// "exit 3", "signal 9", as in meta::kExit.
[[nodiscard]] std::string exit_words(int wait_status);
/// "SIGKILL" of "signal 9"; empty for another text.
[[nodiscard]] std::string signal_name(const std::string& exit);

}  // namespace dcmt::recorder
