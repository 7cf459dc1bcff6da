#include "collector/recorder/drive/attachment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "trace/base/printable.h"
#include "trace/base/read_file.h"
#include "trace/spool/layout.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

/// A process that needs longer to begin is busy in a long call, or stopped.
constexpr auto kMostUntilBegin = std::chrono::seconds(60);

Error cannot(const std::string& what) { return {ErrorCode::kCannotRecord, what + ": " + std::strerror(errno)}; }

Expected<Descriptor> make_memory(const char* name) {
  constexpr unsigned kNoExec = 0x0008U;  // MFD_NOEXEC_SEAL: some systems require it, kernels before 6.3 refuse it
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExec);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return cannot("no memory for the spool");
  return Descriptor(fd);
}

/// Allocates all of it: a process that writes to a hole when no memory is left would be killed.
Expected<Descriptor> make_spool(std::uint32_t chunks) {
  DCMT_ASSIGN_OR_RETURN(Descriptor memory, make_memory("dc-memtrace-spool"));
  const int failure = posix_fallocate(memory.get(), 0, static_cast<off_t>(spool::file_bytes(chunks)));
  if (failure != 0 || fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    if (failure != 0) errno = failure;
    return cannot("no memory for the spool; a smaller one is asked for with --spool-mib");
  }
  return memory;
}

Expected<Descriptor> make_operators(const std::string& text) {
  DCMT_ASSIGN_OR_RETURN(Descriptor memory, make_memory("dc-memtrace-operators"));
  if (write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return cannot("no memory for the table of operators");
  }
  return memory;
}

Descriptor open_folder(const std::string& path) {
  return Descriptor(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// With Yama's scope 1, only a process's parent, or a process that it names, may read it.
bool needs_permission() { return read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0").starts_with('1'); }

}  // namespace

Status Attachment::ask(const OperatorTables& operators) {
  const std::uint32_t chunks = options_.spool_mib * 16;
  DCMT_ASSIGN_OR_RETURN(memory_, make_spool(chunks));
  DCMT_ASSIGN_OR_RETURN(const Descriptor table, make_operators(operators.agent + options_.watch_lines()));
  agent::StandbyRequest request = standby_request(agent::Ask::kAttach);
  request.detail = static_cast<std::uint32_t>(options_.detail);
  request.chunk_count = chunks;
  request.exit_wait = options_.exit_wait;
  request.may_trace = options_.owners && needs_permission() ? 1 : 0;
  request.kernels = options_.kernels ? 1 : 0;
  request.native = options_.native ? 1 : 0;
  options_.prepared.copy(request.prepared, sizeof request.prepared - 1);
  std::vector<int> descriptors{memory_.get(), table.get()};
  Descriptor providers;
  Descriptor prepared;
  if (target_.has_agents_memory) {
    providers = open_folder(options_.providers);
    prepared = open_folder(options_.prepared);
    descriptors.push_back(providers.get());
    // Without prepared providers, the agent gets the other folder, where it finds none.
    descriptors.push_back(prepared.get() >= 0 ? prepared.get() : providers.get());
  }
  return connection_.send(request, descriptors);
}

Expected<spool::SpoolReader> Attachment::begin(const Meanwhile& meanwhile) {
  const auto until = Clock::now() + kMostUntilBegin;
  const Expected<agent::StandbyReply> reply = connection_.receive([&] { return Clock::now() < until && meanwhile(); });
  if (!reply.ok() && reply.error().code == ErrorCode::kStopped && Clock::now() >= until) {
    return Error{ErrorCode::kCannotRecord, reply.error().message + ": it is stopped, or busy in one long call"};
  }
  DCMT_RETURN_IF_ERROR(reply.status());
  if (reply->message[0] != '\0') {
    fmt::print(stderr, "dc-memtrace: {}: {}\n", process_text(target_.pid), printable(reply->message));
  }
  return spool::SpoolReader::open_memory(source(), memory_.get(), spool::Purpose::kDrain);
}

void Attachment::past_is_known() {
  // A process that is ending does not read it.
  if (!has_ended()) (void)connection_.send(standby_request(agent::Ask::kPastKnown)).ok();
}

Status Attachment::leave(const Meanwhile& meanwhile) {
  const Status left = connection_.detach(meanwhile);
  return left.ok() || has_ended() ? Status{} : left;
}

std::string Attachment::source() const { return fmt::format("attached-{}", target_.pid); }

}  // namespace dcmt::recorder
