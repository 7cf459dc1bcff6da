// Memory figures of libtorch programs for GoogleTest matchers. C++17, header only. Needs gmock, and dc-memtrace on PATH
// while the tests run.
//
//   #include <dcmt/testing.h>
//   using dcmt::testing::LeavesAtMost, dcmt::testing::PeaksAtMost;
//
//   TEST(Stage, ForwardKeepsOneActivation) {
//     dcmt::testing::MemoryScope memory;
//     const torch::Tensor out = stage->forward(batch);
//     EXPECT_THAT(memory, PeaksAtMost(24 << 20));
//     EXPECT_THAT(memory, LeavesAtMost(4 << 20));
//   }
//
// The figures count the blocks of torch's CPU allocator exactly, on all threads. Blocks that were allocated before the
// program's first test do not count. The first test starts the recording, which takes half a second and lasts until the
// program ends; each scope costs a few hundredths of a second. If the program is recorded already, no second recording
// is started. For a GPU, use torch's own counts: c10::cuda::CUDACachingAllocator::getDeviceStats().
#ifndef DCMT_TESTING_H
#define DCMT_TESTING_H

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "dcmt/marks.h"

extern "C" char** environ;

namespace dcmt::testing {
namespace detail {

constexpr std::uint64_t kMostUntilAnswer = 10'000'000'000;  // ns

/// Bytes; nothing if the process is not recorded or there was no answer.
inline std::optional<dcmt_cpu_memory> ask(std::uint64_t timeout_ns, bool begins_anew) {
  const dcmt_marks* marks = dcmt_get_marks_table();
  dcmt_cpu_memory memory{};
  if (marks == nullptr || marks->size < sizeof(dcmt_marks)) return std::nullopt;
  if (marks->cpu_memory(&memory, timeout_ns, begins_anew ? 1 : 0) == 0) return std::nullopt;
  return memory;
}

/// The recording of this program, from the first test to the program's end.
class Recording {
 public:
  /// Returns an empty text, or why there is no recording.
  static const std::string& begin() {
    static Recording recording;
    return recording.why_not_;
  }

  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Recording() {
    const dcmt_marks* marks = dcmt_get_marks_table();
    why_not_ = marks != nullptr && marks->recording() != 0 ? wait_until_counted() : start();
  }

  ~Recording() {
    if (recorder_ <= 0) return;
    kill(recorder_, SIGTERM);
    waitpid(recorder_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static std::filesystem::path program() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::filesystem::path program = std::filesystem::path(folder) / "dc-memtrace";
      std::error_code error;
      if (access(program.c_str(), X_OK) == 0) return std::filesystem::canonical(program, error);
    }
    return {};
  }

  std::string start() {
    const std::filesystem::path program = Recording::program();
    if (program.empty()) return "dc-memtrace is not on PATH";
    const std::string agent = program.parent_path().parent_path() / "lib" / "dcmt" / "libdcmt_agent.so";
    void* loaded = dlopen(agent.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* standby = loaded != nullptr ? dlsym(loaded, "dcmt_standby") : nullptr;
    if (standby == nullptr) return "dc-memtrace's agent does not load: " + agent;
    reinterpret_cast<void (*)()>(standby)();
    std::string folder = (std::filesystem::temp_directory_path() / "dc-memtrace-test-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return "there is no folder for a trace: " + folder;
    folder_ = folder;
    const std::string pid = std::to_string(getpid());
    const std::string trace = folder + "/trace";
    const char* words[] = {program.c_str(), "attach", pid.c_str(), "-q", "--no-owners", "-o", trace.c_str(), nullptr};
    if (posix_spawn(&recorder_, program.c_str(), nullptr, nullptr, const_cast<char* const*>(words), environ) != 0) {
      recorder_ = 0;
      return "dc-memtrace does not start";
    }
    return wait_until_counted();
  }

  /// Waits until the recorder has counted what the program had before.
  std::string wait_until_counted() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!ask(0, false)) {
      if (recorder_ > 0 && waitpid(recorder_, nullptr, WNOHANG) == recorder_) {
        recorder_ = 0;
        return "this program is not recorded; dc-memtrace has said why";
      }
      if (std::chrono::steady_clock::now() > until) return "it was not known in time what this program had before";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return "";
  }

  pid_t recorder_ = 0;
  std::filesystem::path folder_;
  std::string why_not_;
};

}  // namespace detail

/// Measures what is allocated and freed from its construction until one of its figures is first requested. Scopes may
/// be nested on one thread. Memory of other threads counts, too.
class MemoryScope {
 public:
  MemoryScope() : error_(detail::Recording::begin()), outer_(innermost()) {
    if (!error_.empty()) return;
    if (outer_ != nullptr) outer_->see();
    const auto now = detail::ask(detail::kMostUntilAnswer, true);
    if (!now) {
      error_ = "the recorder of this program does not answer";
      return;
    }
    begin_ = highest_ = static_cast<std::int64_t>(now->allocated);
    innermost() = this;
  }

  ~MemoryScope() {
    end();
    if (innermost() == this) innermost() = outer_;
  }
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  /// The highest sum of live bytes, less the sum at the begin.
  [[nodiscard]] std::int64_t peak() const {
    end();
    return highest_ - begin_;
  }
  /// The bytes that were added; below 0 if more was freed than allocated.
  [[nodiscard]] std::int64_t left() const {
    end();
    return end_ - begin_;
  }
  /// Why there are no figures; empty if there are.
  [[nodiscard]] const std::string& error() const {
    end();
    return error_;
  }

 private:
  static MemoryScope*& innermost() {
    static MemoryScope* scope = nullptr;
    return scope;
  }

  /// Reads the current figures.
  void see() const {
    const auto now = detail::ask(detail::kMostUntilAnswer, false);
    if (!now) {
      error_ = "the recorder of this program does not answer";
      return;
    }
    end_ = static_cast<std::int64_t>(now->allocated);
    highest_ = std::max(highest_, static_cast<std::int64_t>(now->highest));
  }

  void end() const {
    if (has_ended_) return;
    has_ended_ = true;
    if (innermost() != this) {
      if (error_.empty()) error_ = "a scope inside of it has not ended";
      return;
    }
    see();
    innermost() = outer_;
    if (outer_ != nullptr) outer_->highest_ = std::max(outer_->highest_, highest_);
  }

  mutable std::string error_;
  MemoryScope* outer_;
  std::int64_t begin_ = 0;
  mutable std::int64_t end_ = 0;
  mutable std::int64_t highest_ = 0;
  mutable bool has_ended_ = false;
};

inline void PrintTo(const MemoryScope& memory, std::ostream* out) {
  if (!memory.error().empty()) {
    *out << "a scope without figures: " << memory.error();
  } else {
    *out << "a scope with a peak of " << memory.peak() << " B that left " << memory.left() << " B";
  }
}

namespace detail {

/// Begins the recording before the first test. Scopes report its errors.
class Environment : public ::testing::Environment {
 public:
  void SetUp() override { Recording::begin(); }
};
inline const ::testing::Environment* const kEnvironment = ::testing::AddGlobalTestEnvironment(new Environment);

inline bool is_at_most(const MemoryScope& memory, std::int64_t reached, std::int64_t limit,
                       ::testing::MatchResultListener* listener) {
  if (!memory.error().empty()) return false;
  if (reached > limit) *listener << "which is " << reached - limit << " B more";
  return reached <= limit;
}

}  // namespace detail

/// The peak of live bytes, less the sum at the begin, is at most this.
MATCHER_P(PeaksAtMost, bytes, "has a peak of at most " + std::to_string(bytes) + " B") {
  return detail::is_at_most(arg, arg.peak(), static_cast<std::int64_t>(bytes), result_listener);
}

/// The bytes that were added are at most this.
MATCHER_P(LeavesAtMost, bytes, "leaves at most " + std::to_string(bytes) + " B") {
  return detail::is_at_most(arg, arg.left(), static_cast<std::int64_t>(bytes), result_listener);
}

}  // namespace dcmt::testing

#endif  // DCMT_TESTING_H
