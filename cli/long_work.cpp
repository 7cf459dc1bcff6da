#include "cli/long_work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace dcmt::cli {
namespace {

constexpr std::chrono::milliseconds kSoon(500);  // shorter work needs no line
constexpr std::string_view kClearLine = "\r\x1b[K";

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // else the signal handler could not set it

void interrupt(int /*signal*/) { interrupted = true; }

void say(const std::string& text) { static_cast<void>(write(STDERR_FILENO, text.data(), text.size()) == 0); }

}  // namespace

LongWork::LongWork(std::string what, const char* doing) : what_(std::move(what)), doing_(doing) {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, nullptr, &before_);
  // A program that starts this process in the background may have set Ctrl-C to be ignored.
  if (before_.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
  watch_.stop = &interrupted;
  if (isatty(STDERR_FILENO) == 1) watch_.progress = [this](double share) { show(share); };
}

LongWork::~LongWork() {
  sigaction(SIGINT, &before_, nullptr);
  if (shown_ >= 0) say(std::string(kClearLine));
}

void LongWork::show(double share) {
  const int percent = static_cast<int>(share * 100);
  if (percent == shown_ || std::chrono::steady_clock::now() - begin_ < kSoon) return;
  shown_ = percent;
  say(fmt::format("{}{} {}  {} %", kClearLine, doing_, what_, percent));
}

}  // namespace dcmt::cli
