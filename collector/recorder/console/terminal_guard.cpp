#include "collector/recorder/console/terminal_guard.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "collector/recorder/target/nameless_process.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kLongestText = 4096;

/// Keeps the latest text until the other end is closed, and writes it then. Only calls that are safe after a fork.
[[noreturn]] void guard(int fd) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  if (dup2(fd, STDIN_FILENO) != STDIN_FILENO || dup2(STDERR_FILENO, STDOUT_FILENO) != STDOUT_FILENO) _exit(0);
  syscall(SYS_close_range, 3u, ~0u, 0u);
  become_nameless("dcmt-terminal");
  [[maybe_unused]] const int moved = chdir("/");
  std::array<char, kLongestText> text{};
  std::size_t bytes = 0;
  for (ssize_t got = 0; (got = recv(STDIN_FILENO, text.data(), text.size(), 0)) > 0;) {
    bytes = got > 1 ? static_cast<std::size_t>(got) : 0;  // a single byte stands for an empty text
  }
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text.data(), bytes);
  _exit(0);
}

}  // namespace

void TerminalGuard::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  pid_ = fork();
  if (pid_ == 0) guard(ends[1]);
  close(ends[1]);
  fd_ = ends[0];
}

TerminalGuard::~TerminalGuard() {
  if (fd_ >= 0) close(fd_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void TerminalGuard::restores_by(const std::string& text) {
  if (fd_ < 0 && (text.empty() || pid_ != 0)) return;
  if (fd_ < 0) start();
  if (fd_ < 0) return;
  const char none = 0;
  const bool is_empty = text.empty();
  (void)send(fd_, is_empty ? &none : text.data(), is_empty ? 1 : std::min(text.size(), kLongestText), MSG_NOSIGNAL);
}

}  // namespace dcmt::recorder
