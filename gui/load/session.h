// A trace that is open: its rows, its analysis, the report of it, and a timeline for each of its devices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "analyzer/model/analysis.h"
#include "analyzer/model/holds.h"
#include "analyzer/model/report.h"
#include "gui/load/block_addresses.h"
#include "gui/load/device_timeline.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

/// Thread-safety: const but for its timelines, which one thread uses.
struct Session {
  std::string path;  ///< as it is printed
  std::unique_ptr<analyzer::TraceData> data;
  analyzer::Analysis analysis;
  model::Report report;
  std::vector<model::Hold> holds;                        ///< as find_holds()
  std::vector<std::unique_ptr<DeviceTimeline>> devices;  ///< as in the report; at least one
  /// Of a memory snapshot, whose trace is gone once it is read; those of a trace are read when they are asked for.
  std::optional<std::vector<std::pair<BlockId, std::uint64_t>>> addresses;
};

/// The traces that a path names: itself, or every *.dcmt of a folder, by name, in which numbers count as such.
/// kBadInput if there is none.
Expected<std::vector<std::string>> traces_of(const std::string& path);

/// The rank that a trace says it is of; -1: none. Fails as open_session().
Expected<std::int64_t> rank_of(const std::string& path);

/// Reads and analyzes a trace, or a memory snapshot of torch as one. The file is closed afterwards. Fails with
/// kBadInput for what is no trace, is damaged or newer than this build, with kStopped as `watch` says.
Expected<std::shared_ptr<Session>> open_session(const std::string& path, const analyzer::Watch& watch = {});

/// Where the blocks of a device of the session lie, without lanes. @param file  that the session was read from. Not
/// beside stack_by() of that device. Fails as read_addresses().
Expected<std::shared_ptr<ByAddress>> read_by_address(const Session& session, std::size_t device,
                                                     const std::string& file, const analyzer::Watch& watch = {});

}  // namespace dcmt::gui::load
