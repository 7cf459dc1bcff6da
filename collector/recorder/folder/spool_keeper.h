// A second holder of spools that are memory without a path: they survive if this process is killed.
#pragma once

#include <string>

namespace dcmt::recorder {

/// A separate process, started with the first spool to keep. It only waits: when this process is gone, it writes each
/// spool to its file once the traced process has ended, and exits. Thread-safety: none.
class SpoolKeeper {
 public:
  SpoolKeeper() = default;
  ~SpoolKeeper();
  SpoolKeeper(const SpoolKeeper&) = delete;
  SpoolKeeper& operator=(const SpoolKeeper&) = delete;

  /// Keeps the spool `memory`, which would be written to `path`. No effect if no process can be started.
  void keep(const std::string& path, int memory);
  /// The spool's trace is complete.
  void let_go(const std::string& path);

 private:
  bool start();
  void send(char what, const std::string& path, int memory) const;

  int socket_ = -1;
  bool failed_ = false;
};

}  // namespace dcmt::recorder
