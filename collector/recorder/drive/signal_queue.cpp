#include "collector/recorder/drive/signal_queue.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dcmt::recorder {
namespace {

/// One kill() reaches the members of a group one after the other, and a batch system signals each process separately.
constexpr auto kSettle = std::chrono::milliseconds(30);
/// A signal that only the witness got, and so long ago, was sent to the witness alone.
constexpr auto kForget = std::chrono::milliseconds(300);
constexpr int kFirstRealTime = 32;
/// Signals that ask a process to end.
constexpr std::array kAskToEnd{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// True for signals that this process causes by a write, or by its own use of the processor.
bool is_own(const signalfd_siginfo& info) {
  const auto signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGXCPU) return info.ssi_code == SI_KERNEL;
  return info.ssi_pid == static_cast<std::uint32_t>(getpid());
}

}  // namespace

SignalQueue::SignalQueue(SignalsFor whom) {
  sigset_t ours;
  if (whom == SignalsFor::kJob) {
    sigfillset(&ours);
    sigdelset(&ours, SIGCHLD);
  } else {
    sigemptyset(&ours);
    for (const int signal : kAskToEnd) sigaddset(&ours, signal);
    sigaddset(&ours, SIGTSTP);
    sigaddset(&ours, SIGPIPE);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  if (whom == SignalsFor::kJob) {
    // If SIGCHLD were ignored, an ended child would leave no exit status.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_before_);
    witness_.emplace();
  }
  fd_ = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

SignalQueue::~SignalQueue() {
  if (fd_ >= 0) close(fd_);
}

void SignalQueue::read_all() {
  signalfd_siginfo info{};
  while (fd_ >= 0 && read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (is_own(info)) continue;
    const auto signal = static_cast<int>(info.ssi_signo);
    asked_to_end_ |= std::ranges::find(kAskToEnd, signal) != kAskToEnd.end();
    asked_to_stop_ |= signal == SIGTSTP;
    if (witness_) pending_.push_back({info, Clock::now()});
  }
}

void SignalQueue::ask_witness() {
  SignalCounts got;
  if (!witness_->receive(got)) {
    // Without the witness, only signals from the terminal are certain to have reached the job.
    std::erase_if(pending_, [](const Pending& each) { return each.info.ssi_code == SI_KERNEL; });
    return;
  }
  const auto now = Clock::now();
  if (now - group_since_ > kForget) group_ = {};
  group_since_ = now;
  read_all();
  for (std::size_t signal = 1; signal < got.size(); ++signal) {
    int count = group_[signal] + got[signal];
    const auto same = [&](const Pending& each) { return each.info.ssi_signo == signal; };
    if (count != 0 && signal < kFirstRealTime) {
      if (std::erase_if(pending_, same) != 0) count = 0;  // several pending signals are merged into one
    }
    for (; count > 0; --count) {
      const auto match = std::find_if(pending_.begin(), pending_.end(), same);
      if (match == pending_.end()) break;
      pending_.erase(match);
    }
    group_[signal] = static_cast<std::uint8_t>(std::min(count, UINT8_MAX));
  }
}

std::vector<signalfd_siginfo> SignalQueue::receive() {
  read_all();
  const auto settled = [now = Clock::now()](const Pending& each) { return now - each.since >= kSettle; };
  if (pending_.empty() || !settled(pending_.front())) return {};
  ask_witness();
  std::vector<signalfd_siginfo> signals;
  while (!pending_.empty() && settled(pending_.front())) {
    signals.push_back(pending_.front().info);
    pending_.pop_front();
  }
  return signals;
}

bool SignalQueue::asked_to_end() {
  read_all();
  if (!witness_ && std::exchange(asked_to_stop_, false)) {
    if (before_stop_) before_stop_();
    stop_as_the_job(SIGTSTP);
  }
  return asked_to_end_;
}

void SignalQueue::restore() const {
  sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void pass_on(pid_t job, const signalfd_siginfo& signal) {
  const auto number = static_cast<int>(signal.ssi_signo);
  if (signal.ssi_code != SI_QUEUE) {
    kill(job, number);
    return;
  }
  sigval value{};
  value.sival_ptr = reinterpret_cast<void*>(signal.ssi_ptr);  // NOLINT(performance-no-int-to-ptr)
  sigqueue(job, number, value);
}

void stop_as_the_job(int signal) {
  if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);  // the process stops here, until a SIGCONT
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace dcmt::recorder
