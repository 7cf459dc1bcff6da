#include "gui/load/session.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/base/printable.h"
#include "trace/sql/trace_file.h"

namespace dcmt::gui::load {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> traces_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".dcmt") files.push_back(at->path().string());
  }
  if (error) return Error{ErrorCode::kBadInput, path + ": cannot be read: " + error.message() + "."};
  if (files.empty()) {
    return Error{ErrorCode::kBadInput,
                 path + ": no trace (*.dcmt) in this folder. Record one: dc-memtrace run -o " + path + " -- <command>"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

Expected<std::shared_ptr<Session>> open_session(const std::string& path, const analyzer::Watch& watch) {
  auto session = std::make_shared<Session>();
  session->path = printable(path);
  {
    DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
    DCMT_ASSIGN_OR_RETURN(analyzer::TraceData data, analyzer::TraceData::load(database, watch.part(0, 0.5)));
    session->data = std::make_unique<analyzer::TraceData>(std::move(data));
  }
  session->data->path = session->path;
  DCMT_ASSIGN_OR_RETURN(session->analysis, analyzer::analyze(*session->data, watch.part(0.5, 0.7)));
  session->report = model::report_of(session->path, session->analysis);
  const std::size_t count = session->analysis.devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double from = 0.7 + 0.3 * static_cast<double>(i) / static_cast<double>(count);
    const analyzer::Watch part = watch.part(from, from + 0.3 / static_cast<double>(count));
    DCMT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTimeline> device,
                          DeviceTimeline::make(session->analysis, session->analysis.devices[i], part));
    session->devices.push_back(std::move(device));
  }
  return session;
}

}  // namespace dcmt::gui::load
