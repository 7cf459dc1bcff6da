#include "collector/recorder/job/child_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dcmt::recorder {

SignalQueue::SignalQueue() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &file_size_before_);
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  fd_ = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

SignalQueue::~SignalQueue() {
  if (fd_ >= 0) close(fd_);
  // What is still to be said goes to the same terminal: SIGPIPE stays ignored.
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalQueue::next_for_job() {
  signalfd_siginfo info{};
  while (fd_ >= 0 && read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    // The terminal sends to its whole foreground group, the job included.
    if (info.ssi_code != SI_KERNEL) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

void SignalQueue::restore() const {
  sigaction(SIGXFSZ, &file_size_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Expected<pid_t> start_child(const std::vector<std::string>& command,
                            const std::vector<std::pair<std::string, std::string>>& environment,
                            const SignalQueue& signals) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0) {
    return Error{ErrorCode::kCannotRecord, std::string("the command cannot be started: ") + std::strerror(errno)};
  }
  if (pid != 0) return pid;
  signals.restore();
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(words[0], words.data());
  const int why = errno;
  fprintf(stderr, "dc-memtrace: %s: %s\n", words[0], why == ENOENT ? "command not found" : std::strerror(why));
  _exit(why == ENOENT ? 127 : 126);
}

int shell_exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace dcmt::recorder
