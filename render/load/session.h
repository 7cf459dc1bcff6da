// An open trace: its rows, its analysis, its report, and a timeline for each device.
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
#include "render/load/block_addresses.h"
#include "render/load/device_timeline.h"
#include "trace/base/status.h"

namespace dcmt::load {

/// Thread-safety: const except for its timelines, which only one thread may use.
struct Session {
  std::string path;  ///< as messages print it
  std::unique_ptr<analyzer::TraceData> data;
  analyzer::Analysis analysis;
  model::Report report;
  std::vector<model::Hold> holds;                        ///< the result of find_holds()
  std::vector<std::unique_ptr<DeviceTimeline>> devices;  ///< in the order of the report; at least one
  /// For a memory snapshot, whose temporary trace no longer exists. Addresses of a trace are loaded on demand.
  std::optional<std::vector<std::pair<BlockId, std::uint64_t>>> addresses;
};

/// The traces that a path names: the file itself, or every *.dcmt file of a folder, by name; numbers in names are
/// compared as numbers. kBadInput if there is none.
Expected<std::vector<std::string>> traces_of(const std::string& path);

/// The rank that a trace contains; -1: none. Fails as open_session().
Expected<std::int64_t> rank_of(const std::string& path);

/// Loads and analyzes a trace, or a memory snapshot of torch. The file is closed afterwards. Fails with kBadInput if it
/// is no trace, damaged or newer than this build, with kStopped if `watch` stops it.
Expected<std::shared_ptr<Session>> open_session(const std::string& path, const analyzer::Watch& watch = {});

/// The addresses of the blocks of one device, without lanes. @param file  the file of the session. Must not run in
/// parallel with stack_by() of that device. Fails as read_addresses().
Expected<std::shared_ptr<ByAddress>> read_by_address(const Session& session, std::size_t device,
                                                     const std::string& file, const analyzer::Watch& watch = {});

}  // namespace dcmt::load
