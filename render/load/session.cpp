#include "render/load/session.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "collector/recorder/folder/run_folder.h"
#include "convert/snapshot/snapshot_trace.h"
#include "trace/base/printable.h"
#include "trace/base/scratch_folder.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {

namespace fs = std::filesystem;

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Orders "rank2" before "rank10".
bool before(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto number_from = [](const std::string& text, std::size_t& at) {
        while (at < text.size() && text[at] == '0') ++at;
        const std::size_t from = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(from, at - from);
      };
      const std::string first = number_from(a, i);
      const std::string second = number_from(b, j);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

Expected<std::unique_ptr<analyzer::TraceData>> load(const std::string& path, const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(analyzer::TraceData data, analyzer::TraceData::load(database, watch));
  return std::make_unique<analyzer::TraceData>(std::move(data));
}

/// Loads a snapshot by means of a temporary trace.
Status load_snapshot(const std::string& path, Session& session, Segments& segments, const analyzer::Watch& watch) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return Error{ErrorCode::kIo, "no temporary folder can be made; TMPDIR names where."};
  DCMT_ASSIGN_OR_RETURN(const convert::MemorySnapshot snapshot, convert::read_snapshot(path));
  watch.done(0.2);
  const std::string trace = (scratch.path() / "snapshot.dcmt").string();
  DCMT_RETURN_IF_ERROR(convert::write_snapshot_trace(snapshot, trace, watch.part(0.2, 0.5)));
  auto& addresses = session.addresses.emplace();
  DCMT_RETURN_IF_ERROR(read_addresses(
      trace, [&](BlockId block, std::uint64_t address) { addresses.emplace_back(block, address); }, watch));
  DCMT_ASSIGN_OR_RETURN(segments, read_segments(trace));
  DCMT_ASSIGN_OR_RETURN(session.data, load(trace, watch.part(0.5, 1)));
  return {};
}

}  // namespace

Expected<std::vector<std::string>> traces_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".dcmt") files.push_back(at->path().string());
  }
  if (error) return Error{ErrorCode::kBadInput, path + ": cannot be read: " + error.message() + "."};
  const recorder::LocalTraces local = recorder::local_traces(path);
  files.insert(files.end(), local.here.begin(), local.here.end());
  if (files.empty() && !local.notes.empty()) {
    return Error{ErrorCode::kBadInput, path + ": no trace (*.dcmt) in this folder yet. " + local.notes.front()};
  }
  if (files.empty()) {
    return Error{ErrorCode::kBadInput,
                 path + ": no trace (*.dcmt) in this folder. Record one: dc-memtrace run -o " + path + " -- <command>"};
  }
  const auto name_of = [](const std::string& file) { return fs::path(file).filename().string(); };
  std::ranges::sort(files, before, name_of);
  return files;
}

Expected<std::int64_t> rank_of(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> rank, meta_integer(database, meta::kRank));
  return rank.value_or(-1);
}

Expected<std::shared_ptr<Session>> open_session(const std::string& path, const analyzer::Watch& watch) {
  auto session = std::make_shared<Session>();
  session->path = printable(path);
  Segments segments;
  const analyzer::Watch part = watch.part(0, 0.5);
  if (convert::is_pickle(path)) {
    DCMT_RETURN_IF_ERROR(load_snapshot(path, *session, segments, part));
  } else {
    DCMT_ASSIGN_OR_RETURN(session->data, load(path, part));
    DCMT_ASSIGN_OR_RETURN(segments, read_segments(path));
  }
  session->data->path = session->path;
  DCMT_ASSIGN_OR_RETURN(session->analysis, analyzer::analyze(*session->data, watch.part(0.5, 0.7)));
  session->report = model::report_of(session->path, session->analysis);
  session->holds = model::find_holds(*session->data);
  const std::size_t count = session->analysis.devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double from = 0.7 + 0.3 * static_cast<double>(i) / static_cast<double>(count);
    const analyzer::Watch of_device = watch.part(from, from + 0.3 / static_cast<double>(count));
    DCMT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTimeline> device,
                          DeviceTimeline::make(session->analysis, session->analysis.devices[i], of_device));
    if (const auto found = segments.find(device->name()); found != segments.end())
      device->set_segments(std::move(found->second));
    session->devices.push_back(std::move(device));
  }
  return session;
}

Expected<std::shared_ptr<ByAddress>> read_by_address(const Session& session, std::size_t device,
                                                     const std::string& file, const analyzer::Watch& watch) {
  return session.devices[device]->by_address([&](const ReceiveAddress& receive) -> Status {
    if (!session.addresses) return read_addresses(file, receive, watch);
    for (const auto& [block, address] : *session.addresses) receive(block, address);
    return {};
  });
}

}  // namespace dcmt::load
