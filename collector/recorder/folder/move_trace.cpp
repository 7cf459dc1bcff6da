#include "collector/recorder/folder/move_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "collector/recorder/folder/private_folder.h"
#include "trace/base/descriptor.h"
#include "trace/base/rename_new.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAtOnce = 1 << 20;

/// Errors are those of errno; 0: success.
int write_all(int to, const char* bytes, std::size_t size) {
  while (size != 0) {
    const ssize_t written = write(to, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

int copy_bytes(int from, int to) {
  std::vector<char> bytes(kAtOnce);
  for (;;) {
    const ssize_t count = read(from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return 0;
    if (const int error = write_all(to, bytes.data(), static_cast<std::size_t>(count)); error != 0) return error;
  }
}

/// Network file systems report some errors of a write only when the file is stored or closed.
int copy_file(const std::string& from, std::string& pattern) {
  const Descriptor source(open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (source.get() < 0) return errno;
  const int target = mkostemp(pattern.data(), O_CLOEXEC);
  if (target < 0) return errno;
  int error = copy_bytes(source.get(), target);
  if (error == 0 && fsync(target) != 0) error = errno;
  if (close(target) != 0 && error == 0) error = errno;
  if (error != 0) unlink(pattern.c_str());
  return error;
}

/// A copy beside the trace that is one file. A reader that has the trace open keeps a log beside it.
Expected<std::string> merged_copy(const std::string& trace) {
  std::string copy = trace + "-XXXXXX";
  std::string log = trace + "-log-XXXXXX";
  // The log first: it has every page that a reader may write back while the trace is copied.
  int error = copy_file(trace + "-wal", log);
  const bool has_log = error == 0;
  if (error == 0 || error == ENOENT) error = copy_file(trace, copy);
  if (error == 0 && has_log && rename(log.c_str(), (copy + "-wal").c_str()) != 0) error = errno;
  Status merged;
  if (error == 0) merged = merge_log(copy);
  if (error == 0 && merged.ok()) return copy;
  unlink(log.c_str());
  remove_trace(copy);
  if (error == 0) return merged.error();
  return Error{ErrorCode::kIo, fmt::format("{}: cannot be copied: {}", trace, std::strerror(error))};
}

std::string hidden_prefix(const std::string& name) { return "." + name + "-"; }

/// "rank0.dcmt", "rank0-2.dcmt", "rank0-3.dcmt".
std::string next_name(const std::string& name) {
  const std::string stem = fs::path(name).stem().string();
  const std::size_t dash = stem.rfind('-');
  const std::string number = dash == std::string::npos ? "" : stem.substr(dash + 1);
  const bool numbered = !number.empty() && number.size() < 9 &&
                        std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
  return fmt::format("{}-{}{}", numbered ? stem.substr(0, dash) : stem, numbered ? std::stoi(number) + 1 : 2,
                     fs::path(name).extension().string());
}

}  // namespace

Expected<std::string> move_trace(const std::string& trace, const std::string& folder) {
  const auto stays = [&](int error) {
    return Error{ErrorCode::kIo, fmt::format("{}: the trace cannot be moved there: {}. It is in {}", folder,
                                             std::strerror(error), trace)};
  };
  std::string whole = trace;
  if (!is_single_file(trace)) {
    DCMT_ASSIGN_OR_RETURN(whole, merged_copy(trace));
  }
  std::string name = fs::path(trace).filename().string();
  std::string hidden = folder + "/" + hidden_prefix(name) + "XXXXXX";
  const int failure = copy_file(whole, hidden);
  if (whole != trace) unlink(whole.c_str());
  if (failure != 0) return stays(failure);
  int why = 0;
  while ((why = rename_to_new(hidden, folder + "/" + name)) == EEXIST) name = next_name(name);
  if (why != 0) {
    unlink(hidden.c_str());
    return stays(why);
  }
  if (const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); opened.get() >= 0) {
    (void)fsync(opened.get());  // the name is stored, too; not every file system can do that for a folder
  }
  remove_trace(trace);
  return folder + "/" + name;
}

void remove_partial_copies(const std::string& folder, const std::string& name) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_made_from(entry.path().filename().string(), hidden_prefix(name))) unlink(entry.path().c_str());
  }
}

}  // namespace dcmt::recorder
