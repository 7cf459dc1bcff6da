#include "collector/inject/standby.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/standby_protocol.h"
#include "collector/agent/start.h"
#include "trace/spool/layout.h"
#include "trace/wire/records.h"

namespace dcmt::agent {
namespace {

// Torch's operators run on this thread while a session starts. Unused pages of the stack cost nothing.
constexpr std::size_t kStack = std::size_t{1} << 20;
constexpr int kBacklog = 4;
/// A client that sends nothing for this long is disconnected.
constexpr timeval kPatience{2, 0};

constinit std::atomic<bool> g_begun{false};
constinit int g_listening = -1;
constinit pid_t g_owner = 0;  ///< the process that made the socket, as opposed to a forked child
constinit char g_path[512] = {};
constinit std::atomic<bool> g_busy{false};  ///< a session begins or ends
// State of the session; only the standby thread uses it.
constinit int g_session = -1;
constinit pid_t g_recorder = 0;
constinit std::uint32_t g_sessions = 0;

/// True for a private folder of this user: no other user can put a socket there.
bool is_private(int folder) noexcept {
  struct stat status {};
  return fstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/// Binds relative to the folder's descriptor, because its path can be too long for an address.
bool bind_in(int folder, const char* name) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof address.sun_path) return false;
  unlinkat(folder, name, 0);  // left by an earlier process with this pid
  return bind(g_listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         fchmodat(folder, name, S_IRUSR | S_IWUSR, 0) == 0 && listen(g_listening, kBacklog) == 0;
}

bool make_socket() noexcept {
  char path[400];
  char name[32];
  if (!standby_folder(path, sizeof path, getenv("XDG_RUNTIME_DIR"), geteuid()) ||
      !standby_socket(name, sizeof name, getpid())) {
    return false;
  }
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  g_listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const bool made = g_listening >= 0 && is_private(folder) && bind_in(folder, name);
  close(folder);
  if (made) {
    snprintf(g_path, sizeof g_path, "%s/%s", path, name);
    g_owner = getpid();
    return true;
  }
  if (g_listening >= 0) close(g_listening);
  g_listening = -1;
  return false;
}

/// The folder of this library.
bool own_folder(char (&out)[4096]) noexcept {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &self) == 0 || self.dli_fname == nullptr) return false;
  snprintf(out, sizeof out, "%s", self.dli_fname);
  char* const slash = strrchr(out, '/');
  if (slash == nullptr) return false;
  *slash = '\0';
  return true;
}

/// The path of a passed file or folder, wherever it is. False if none was passed.
template <std::size_t kSize>
bool path_of(int descriptor, char (&out)[kSize]) noexcept {
  if (descriptor >= 0) snprintf(out, kSize, "/proc/self/fd/%d", descriptor);
  return descriptor >= 0;
}

void send_reply(int to, Answer answer, const char* message) noexcept {
  StandbyReply reply{};
  memcpy(reply.magic, kStandbyMagic, sizeof reply.magic);
  reply.protocol = kStandbyProtocol;
  reply.wire_version = wire::kWireVersion;
  reply.answer = static_cast<std::uint32_t>(answer);
  reply.recorder = g_session >= 0 ? g_recorder : 0;
  reply.session = g_sessions;
  snprintf(reply.message, sizeof reply.message, "%s", message);
  [[maybe_unused]] const ssize_t sent = send(to, &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void refuse_request(int to, const char* why) noexcept { send_reply(to, Answer::kRefused, why); }

/// The descriptors of the request; -1 where none was passed.
struct Received {
  StandbyRequest request;
  int descriptors[kAttachDescriptors] = {-1, -1, -1, -1};
  bool whole = false;

  ~Received() {
    for (const int descriptor : descriptors) {
      if (descriptor >= 0) close(descriptor);
    }
  }
};

void receive(int from, Received& received) noexcept {
  iovec part{&received.request, sizeof received.request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof received.descriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t bytes = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(received.descriptors, CMSG_DATA(each),
           (count < kAttachDescriptors ? count : kAttachDescriptors) * sizeof(int));
  }
  received.whole = bytes == static_cast<ssize_t>(sizeof received.request) &&
                   memcmp(received.request.magic, kStandbyMagic, sizeof kStandbyMagic) == 0;
}

/// The caller's pid if it belongs to this user, else -1.
pid_t own_users(int connection) noexcept {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return -1;
  return who.uid == geteuid() || who.uid == 0 ? who.pid : -1;
}

/// Returns nullptr, or why the session did not begin.
const char* begin_as_asked(const Received& received, pid_t recorder) noexcept {
  const StandbyRequest& request = received.request;
  const std::uint32_t chunks = request.chunk_count;
  if (received.descriptors[kSpool] < 0 || received.descriptors[kOperators] < 0 || chunks < 4 ||
      chunks > spool::kMaxChunks || request.detail > static_cast<std::uint32_t>(Detail::kOperators)) {
    return "the request is not whole";
  }
  // If the recorder truncated the memory, this process would die of SIGBUS.
  const int seals = fcntl(received.descriptors[kSpool], F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(received.descriptors[kSpool], &status) != 0 ||
      static_cast<std::size_t>(status.st_size) < spool::file_bytes(chunks)) {
    return "the spool's memory is not sealed, or too small";
  }
  static char libraries[4096];
  static char operators[64];
  static char prepared[sizeof request.prepared];
  if (!path_of(received.descriptors[kProviders], libraries) && !own_folder(libraries)) {
    return "the agent does not find the folder of its providers";
  }
  path_of(received.descriptors[kOperators], operators);
  if (!path_of(received.descriptors[kPrepared], prepared)) {
    snprintf(prepared, sizeof prepared, "%.*s", static_cast<int>(sizeof prepared - 1), request.prepared);
  }
  if (request.may_trace != 0) prctl(PR_SET_PTRACER, static_cast<unsigned long>(recorder), 0, 0, 0);
  return begin_session({received.descriptors[kSpool], chunks, static_cast<Detail>(request.detail), request.exit_wait,
                        request.kernels != 0, request.native != 0, operators, libraries, prepared});
}

/// Handles a message of the recorder; false if the session ends.
bool hear_recorder() noexcept {
  StandbyRequest request{};
  const ssize_t bytes = recv(g_session, &request, sizeof request, MSG_DONTWAIT);
  if (bytes != static_cast<ssize_t>(sizeof request) || request.ask != static_cast<std::uint32_t>(Ask::kPastKnown)) {
    return false;
  }
  past_is_known();
  return true;
}

void end() noexcept {
  if (g_session < 0) return;
  g_busy.store(true);
  end_session();
  g_busy.store(false);
  send_reply(g_session, Answer::kEnded, "");
  close(g_session);
  g_session = -1;
}

/// Answers a connection, and closes it unless it begins a session.
void serve(int connection) noexcept {
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const pid_t caller = own_users(connection);
  Received received;
  if (caller >= 0) receive(connection, received);
  if (caller < 0 || !received.whole) {
    close(connection);
    return;
  }
  const StandbyRequest& request = received.request;
  if (request.protocol != kStandbyProtocol || request.wire_version != wire::kWireVersion) {
    refuse_request(connection, "the process runs another version of dc-memtrace's agent; attach with that version");
  } else if (request.ask == static_cast<std::uint32_t>(Ask::kStatus)) {
    send_reply(connection, g_session >= 0 ? Answer::kRecording : Answer::kIdle, "");
  } else if (request.ask == static_cast<std::uint32_t>(Ask::kDetach)) {
    const bool attached = g_session >= 0;
    end();
    attached ? send_reply(connection, Answer::kEnded, "") : refuse_request(connection, "no recorder is attached");
  } else if (g_session >= 0) {
    char why[96];
    snprintf(why, sizeof why, "the process is attached to already, by process %ld", static_cast<long>(g_recorder));
    refuse_request(connection, why);
  } else {
    g_busy.store(true);
    const char* why = begin_as_asked(received, caller);
    g_busy.store(false);
    if (why == nullptr) {
      g_session = connection;
      g_recorder = caller;
      ++g_sessions;
      send_reply(connection, Answer::kRecording, why_no_kernels() != nullptr ? why_no_kernels() : "");
      return;
    }
    refuse_request(connection, why);
  }
  close(connection);
}

void* stand_by(void*) noexcept {
  constexpr timespec kPause{0, 100'000'000};
  prctl(PR_SET_NAME, "dcmt-standby");
  for (;;) {
    pollfd wanted[2] = {{g_listening, POLLIN, 0}, {g_session, POLLIN, 0}};
    if (poll(wanted, g_session >= 0 ? 2 : 1, -1) < 0) continue;
    // The recorder's end ends the session, too. Read what it has sent before the connection is closed; otherwise it
    // would not get the answer.
    if (g_session >= 0 && wanted[1].revents != 0 && !hear_recorder()) end();
    if ((wanted[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return nullptr;
    if ((wanted[0].revents & POLLIN) == 0) continue;
    const int connection = accept4(g_listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) {
      serve(connection);
    } else {
      nanosleep(&kPause, nullptr);  // for example, no descriptor is left: the client is still waiting
    }
  }
}

/// A forked child does not have the thread, so it must not keep the sockets open.
void in_child() noexcept {
  if (g_listening >= 0) close(g_listening);
  if (g_session >= 0) close(g_session);
  g_listening = g_session = -1;
}

/// At exit, the objects that a session needs are about to be destroyed: wait until a session has finished to begin or
/// end.
void wait_while_busy() noexcept {
  constexpr timespec kPause{0, 1'000'000};
  constexpr int kMostPauses = 1000;
  for (int i = 0; i < kMostPauses && getpid() == g_owner && g_busy.load(); ++i) nanosleep(&kPause, nullptr);
}

bool start_thread() noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, stand_by, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

void begin_standby() noexcept {
  if (g_begun.exchange(true) || !make_socket()) return;
  pthread_atfork(nullptr, nullptr, in_child);
  atexit(wait_while_busy);
  if (!start_thread()) unlink(g_path);
}

namespace {
/// The socket's file is removed at the end of the process.
__attribute__((destructor)) void remove_socket() {
  if (g_owner == getpid()) unlink(g_path);
}
}  // namespace

}  // namespace dcmt::agent

void dcmt_standby() { dcmt::agent::begin_standby(); }
