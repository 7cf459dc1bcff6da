// What the report of a trace says while it is recorded.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace dcmt::recorder {

/// Another process reads the trace, as `dc-memtrace report` does at any time, so rarely that it needs few percent of a
/// core. Thread-safety: none.
class ReportSoFar {
 public:
  /// @param program  reads traces
  explicit ReportSoFar(std::string program = "/proc/self/exe") : program_(std::move(program)) {}
  ReportSoFar(const ReportSoFar&) = delete;
  ReportSoFar& operator=(const ReportSoFar&) = delete;
  ~ReportSoFar();

  /// Starts the process when it is due, and takes its result when it is there. Call it regularly.
  void poll(const std::string& trace);
  /// The first line of the latest report; empty: there is none yet.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Clock = std::chrono::steady_clock;

  void start(const std::string& trace);
  void take();

  const std::string program_;
  Clock::time_point due_ = Clock::now() + kFirst;
  pid_t pid_ = 0;  ///< 0: no process runs
  int fd_ = -1;    ///< of its output
  std::string output_, text_;

  static constexpr auto kFirst = std::chrono::seconds(4);
};

}  // namespace dcmt::recorder
