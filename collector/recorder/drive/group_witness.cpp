#include "collector/recorder/drive/group_witness.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/recorder/target/nameless_process.h"

namespace dcmt::recorder {
namespace {

/// Answers every byte with the signals since the last one, until the other end is closed.
[[noreturn]] void witness(int fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  if (dup2(fd, 0) != 0 || syscall(SYS_close_range, 1u, ~0u, 0u) != 0) {
    const long most = sysconf(_SC_OPEN_MAX);
    for (int each = 1; each < (most > 0 && most < 65536 ? most : 65536); ++each) close(each);
  }
  become_nameless("dcmt-witness");
  [[maybe_unused]] const int moved = chdir("/");
  sigset_t all;
  sigfillset(&all);
  for (char asked = 0; read(0, &asked, 1) == 1;) {
    SignalCounts counts{};
    const timespec now{};
    for (int signal = 0; (signal = sigtimedwait(&all, nullptr, &now)) > 0;) {
      auto& count = counts.at(static_cast<std::size_t>(signal));
      if (count != UINT8_MAX) ++count;
    }
    if (write(0, counts.data(), counts.size()) != static_cast<ssize_t>(counts.size())) break;
  }
  _exit(0);
}

}  // namespace

GroupWitness::GroupWitness() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) witness(ends[1], parent);
  close(ends[1]);
  fd_ = ends[0];
}

GroupWitness::~GroupWitness() {
  if (fd_ >= 0) close(fd_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool GroupWitness::receive(SignalCounts& counts) {
  counts = {};
  const char ask = 0;
  return fd_ >= 0 && pid_ > 0 && send(fd_, &ask, 1, MSG_NOSIGNAL) == 1 &&
         recv(fd_, counts.data(), counts.size(), 0) == static_cast<ssize_t>(counts.size());
}

}  // namespace dcmt::recorder
