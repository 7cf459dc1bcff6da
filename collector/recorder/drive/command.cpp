#include "collector/recorder/drive/command.h"

#include <sys/wait.h>

#include <thread>

#include "collector/recorder/drive/record_rounds.h"

namespace dcmt::recorder {

void Command::follow() {
  int status = 0;
  while (!wait_status_ && waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      line_.give_back();
      stop_as_the_job(WSTOPSIG(status));
    } else {
      wait_status_ = status;
    }
  }
  for (const signalfd_siginfo& signal : signals_.receive()) {
    if (!wait_status_) pass_on(pid_, signal);  // once it is reaped, another process can have its pid
  }
}

int Command::wait() {
  for (follow(); !wait_status_; follow()) std::this_thread::sleep_for(kPause);
  return *wait_status_;
}

}  // namespace dcmt::recorder
