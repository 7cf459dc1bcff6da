#include "collector/recorder/folder/spool_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "collector/recorder/process/process_recorder.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

constexpr char kKeep = 'k';
constexpr char kLetGo = 'l';
/// Time between two checks for ended processes, once the recorder is gone.
constexpr int kPauseMs = 20;

union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

/// The keeper's spools, by the path to which each would be written.
class Held {
 public:
  /// False once the other end is closed.
  bool receive(int socket) {
    std::array<char, PATH_MAX + 1> text{};
    Control control{};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) return true;
    if (bytes <= 0) return false;
    const std::string path(text.data() + 1, static_cast<std::size_t>(bytes) - 1);
    const cmsghdr* passed = CMSG_FIRSTHDR(&message);
    if (text[0] == kKeep && passed != nullptr && passed->cmsg_type == SCM_RIGHTS) {
      std::memcpy(&spools_[path], CMSG_DATA(passed), sizeof(int));
    } else if (const auto kept = spools_.find(path); kept != spools_.end()) {
      close(kept->second);
      spools_.erase(kept);
    }
    return true;
  }

  /// Writes the spools of ended processes to their files.
  void save_the_dead() {
    for (auto kept = spools_.begin(); kept != spools_.end();) {
      const auto& [path, memory] = *kept;
      const Expected<spool::SpoolReader> reader =
          spool::SpoolReader::open_memory(path, memory, spool::Purpose::kInspect);
      if (reader.ok() && ProcessRecorder::is_alive(reader->facts())) {
        ++kept;
        continue;
      }
      save(path, memory);
      close(memory);
      kept = spools_.erase(kept);
    }
  }

  [[nodiscard]] bool empty() const { return spools_.empty(); }

 private:
  /// Replaces the link by the file; a report can use either.
  static void save(const fs::path& path, int memory) {
    const fs::path hidden = path.parent_path() / ("." + path.filename().string() + ".new");
    const int file = open(hidden.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status {};
    bool whole = file >= 0 && fstat(memory, &status) == 0;
    for (off_t at = 0; whole && at < status.st_size;) {
      whole = sendfile(file, memory, &at, static_cast<std::size_t>(status.st_size - at)) > 0;
    }
    if (file >= 0) close(file);
    // If the disk is full, the readable begin is better than nothing.
    if (file >= 0) rename(hidden.c_str(), path.c_str());
  }

  std::map<std::string, int> spools_;
};

/// The main function of the keeper. It survives the terminal, and keeps no file of the recorder open.
[[noreturn]] void keep_until_saved(int socket) {
  setsid();
  prctl(PR_SET_NAME, "dcmt-keeper");
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(ignored, SIG_IGN);
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  const int own = dup2(socket, STDERR_FILENO + 1);
  close_range(static_cast<unsigned>(own) + 1, ~0U, 0);
  [[maybe_unused]] const int ignored = chdir("/");
  Held held;
  pollfd message{own, POLLIN, 0};
  while (poll(&message, 1, -1) >= 0 || errno == EINTR) {
    if (!held.receive(own)) break;
  }
  for (held.save_the_dead(); !held.empty(); held.save_the_dead()) poll(nullptr, 0, kPauseMs);
  _exit(0);
}

}  // namespace

SpoolKeeper::~SpoolKeeper() {
  if (socket_ >= 0) close(socket_);
}

bool SpoolKeeper::start() {
  if (socket_ >= 0 || failed_) return !failed_;
  std::array<int, 2> ends{};
  failed_ = true;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const pid_t keeper = fork();
  if (keeper == 0) keep_until_saved(ends[1]);
  close(ends[1]);
  if (keeper < 0) {
    close(ends[0]);
    return false;
  }
  socket_ = ends[0];
  failed_ = false;
  return true;
}

void SpoolKeeper::send(char what, const std::string& path, int memory) const {
  std::string text = what + path;
  Control control{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* passed = CMSG_FIRSTHDR(&message);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(passed), &memory, sizeof memory);
  }
  sendmsg(socket_, &message, MSG_NOSIGNAL);
}

void SpoolKeeper::keep(const std::string& path, int memory) {
  if (memory >= 0 && path.size() < PATH_MAX && start()) send(kKeep, path, memory);
}

void SpoolKeeper::let_go(const std::string& path) {
  if (socket_ >= 0) send(kLetGo, path, -1);
}

}  // namespace dcmt::recorder
