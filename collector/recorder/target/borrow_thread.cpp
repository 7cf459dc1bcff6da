#include "collector/recorder/target/borrow_thread.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

struct Call {
  long number = -1;
  std::array<unsigned long, 6> arguments{};
};

bool waits_without_limit(const Call& call) {
  const unsigned long operation =
      call.arguments[1] & ~static_cast<unsigned long>(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  return call.number == SYS_futex && operation == FUTEX_WAIT_BITSET && call.arguments[3] == 0;
}

/// Newer architectures have neither of these.
bool waits_by_old_call([[maybe_unused]] long number) {
#if defined(SYS_poll) && defined(SYS_select)
  return number == SYS_poll || number == SYS_select;
#else
  return false;
#endif
}

bool waits_with_limit(const Call& call) {
  const unsigned long operation =
      call.arguments[1] & ~static_cast<unsigned long>(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  return (call.number == SYS_futex && operation == FUTEX_WAIT_BITSET) || call.number == SYS_clock_nanosleep ||
         call.number == SYS_pselect6 || call.number == SYS_ppoll || waits_by_old_call(call.number);
}

/// Calls `visit` with each thread of the process and its line of /proc/PID/task/TID/syscall.
template <class Visit>
void each_thread(pid_t pid, Visit visit) {
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (fs::directory_iterator at(tasks, error), end; !error && at != end; at.increment(error)) {
    visit(static_cast<pid_t>(std::strtol(at->path().filename().c_str(), nullptr, 10)),
          read_file(at->path().string() + "/syscall").value_or(""));
  }
}

}  // namespace

bool can_be_borrowed(const std::string& line, bool with_time_limit) {
  std::istringstream words(line);
  Call call;
  if (!(words >> call.number) || call.number < 0) return false;  // "running", or not a system call
  for (unsigned long& argument : call.arguments) {
    std::string word;
    if (!(words >> word)) return false;
    argument = std::strtoul(word.c_str(), nullptr, 16);
  }
  return waits_without_limit(call) || (with_time_limit && waits_with_limit(call));
}

std::vector<pid_t> threads_to_borrow(pid_t pid) {
  std::vector<pid_t> best;
  std::vector<pid_t> others;
  each_thread(pid, [&](pid_t thread, const std::string& call) {
    if (can_be_borrowed(call, false)) {
      best.push_back(thread);
    } else if (can_be_borrowed(call, true)) {
      others.push_back(thread);
    }
  });
  best.insert(best.end(), others.begin(), others.end());
  return best;
}

std::vector<pid_t> threads_at_work(pid_t pid) {
  std::vector<pid_t> threads;
  each_thread(pid, [&](pid_t thread, const std::string& call) {
    if (call.starts_with("running")) threads.push_back(thread);
  });
  return threads;
}

}  // namespace dcmt::recorder
