#include "collector/recorder/target/standby_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "collector/recorder/target/target_process.h"
#include "trace/base/printable.h"
#include "trace/base/read_file.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {
namespace {

using agent::StandbyReply;
using agent::StandbyRequest;

constexpr int kAskEveryMs = 100;
/// A process that needs longer to remove its hooks is stopped, or busy in a long call.
constexpr auto kMostUntilEnd = std::chrono::seconds(5);

/// The value of a variable in the process's initial environment.
std::optional<std::string> variable_of(pid_t pid, const std::string& name) {
  std::istringstream text(read_file(fmt::format("/proc/{}/environ", pid)).value_or(""));
  for (std::string each; std::getline(text, each, '\0');) {
    if (each.starts_with(name + "=")) return each.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// The process's pid in its innermost pid namespace.
long own_pid_of(pid_t pid) {
  std::istringstream text(read_file(fmt::format("/proc/{}/status", pid)).value_or(""));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("NSpid:")) continue;
    const std::size_t last = line.find_last_of("\t ");
    return std::strtol(line.c_str() + last, nullptr, 10);
  }
  return pid;
}

/// Where the process may have its socket: in its own runtime folder, in its user's, in /tmp; paths as the process sees
/// them.
std::vector<std::string> folders_of(pid_t pid, uid_t user) {
  std::vector<std::string> folders;
  const auto add = [&](const std::optional<std::string>& runtime) {
    char path[400];
    if (!agent::standby_folder(path, sizeof path, runtime ? runtime->c_str() : nullptr, user)) return;
    for (const std::string& each : {std::string(path), fmt::format("/proc/{}/root{}", pid, path)}) {
      if (std::ranges::find(folders, each) == folders.end()) folders.push_back(each);
    }
  };
  add(variable_of(pid, "XDG_RUNTIME_DIR"));
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr) add(runtime);
  add(std::nullopt);
  return folders;
}

/// Connects relative to the folder's descriptor, because its path can be too long for an address. False with errno.
bool connect_in(const std::string& folder, const char* name, int socket) {
  const Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.get() < 0) return false;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", opened.get(), name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// True if the socket belongs to the process: any user can make a socket with this name in an own folder.
bool is_of(int socket, pid_t pid) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid == pid;
}

}  // namespace

StandbyRequest standby_request(agent::Ask ask) {
  StandbyRequest request{};
  std::memcpy(request.magic, agent::kStandbyMagic, sizeof request.magic);
  request.protocol = agent::kStandbyProtocol;
  request.wire_version = wire::kWireVersion;
  request.ask = static_cast<std::uint32_t>(ask);
  return request;
}

Expected<StandbyConnection> StandbyConnection::open(pid_t pid) {
  DCMT_ASSIGN_OR_RETURN(const TargetProcess target, inspect_process(pid));
  if (const auto obstacle = obstacle_of(target)) return refusal(*obstacle);
  char name[32];
  if (!agent::standby_socket(name, sizeof name, own_pid_of(pid)))
    return cannot_record(process_text(pid) + " has no pid that a name can have");
  for (const std::string& folder : folders_of(pid, target.user)) {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (connect_in(folder, name, socket.get()) && is_of(socket.get(), pid)) {
      return StandbyConnection(pid, std::move(socket));
    }
  }
  return refusal(why_not_in_standby(target));
}

Status StandbyConnection::send(const StandbyRequest& request, std::span<const int> descriptors) {
  iovec part{const_cast<StandbyRequest*>(&request), sizeof request};
  std::vector<char> control(CMSG_SPACE(descriptors.size_bytes()));
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request)) return {};
  return cannot_record(fmt::format("{} does not take requests: {}", process_text(pid_), std::strerror(errno)));
}

Expected<StandbyReply> StandbyConnection::receive(const std::function<bool()>& waits_on) {
  pollfd wanted{socket_.get(), POLLIN, 0};
  while (poll(&wanted, 1, kAskEveryMs) <= 0) {
    if (!waits_on()) return Error{ErrorCode::kStopped, fmt::format("{} has not answered yet", process_text(pid_))};
  }
  StandbyReply reply{};
  const ssize_t bytes = recv(socket_.get(), &reply, sizeof reply, 0);
  if (bytes <= 0) return cannot_record(fmt::format("{} has closed the connection", process_text(pid_)));
  if (bytes != static_cast<ssize_t>(sizeof reply) ||
      std::memcmp(reply.magic, agent::kStandbyMagic, sizeof reply.magic) != 0 ||
      reply.answer > static_cast<std::uint32_t>(agent::Answer::kRefused)) {
    return cannot_record(
        fmt::format("{} runs another version of dc-memtrace's agent; attach with that version", process_text(pid_)));
  }
  reply.message[sizeof reply.message - 1] = '\0';
  if (static_cast<agent::Answer>(reply.answer) == agent::Answer::kRefused) {
    return cannot_record(fmt::format("{} is not recorded: {}", process_text(pid_), printable(reply.message)));
  }
  return reply;
}

Status StandbyConnection::detach(const std::function<bool()>& waits_on) {
  DCMT_RETURN_IF_ERROR(send(standby_request(agent::Ask::kDetach)));
  const auto until = std::chrono::steady_clock::now() + kMostUntilEnd;
  return receive([&] { return std::chrono::steady_clock::now() < until && waits_on(); }).status();
}

bool StandbyConnection::has_ended() const {
  pollfd wanted{socket_.get(), POLLIN, 0};
  return poll(&wanted, 1, 0) > 0;
}

}  // namespace dcmt::recorder
