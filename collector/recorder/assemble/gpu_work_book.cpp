#include "collector/recorder/assemble/gpu_work_book.h"

#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {
namespace {

/// Calls whose work may still come: more than what CUPTI collects within a second.
constexpr std::size_t kMostLaunches = 1 << 16;

}  // namespace

Status GpuWorkBook::launch(const wire::GpuLaunchRecord& record) {
  if (journal_.rows.full()) return {};
  Launch launch{record.stream, {}};
  DCMT_ASSIGN_OR_RETURN(launch.where, lifetimes_.place(record.stack));
  launches_[record.header.aux] = launch;
  in_order_.push_back(record.header.aux);
  if (in_order_.size() > kMostLaunches) {
    launches_.erase(in_order_.front());
    in_order_.pop_front();
  }
  return {};
}

Status GpuWorkBook::work(std::string_view bytes) {
  const auto record = view_as<wire::GpuWorkRecord>(bytes);
  if (!record || bytes.size() < sizeof *record + record->header.aux * sizeof(wire::GpuWorkItem)) {
    return journal_.bad_record("work of a GPU");
  }
  if (record->lost > 0) {
    DCMT_RETURN_IF_ERROR(journal_.diagnose(
        "note", "CUPTI has dropped " + std::to_string(record->lost) + " kernels and copies: they came too fast"));
  }
  if (journal_.rows.full()) {
    if (std::exchange(said_full_, true)) return {};
    return journal_.diagnose("note", "kernels and copies from here on are not in the trace: it has reached --max-disk");
  }
  std::vector<GpuWorkRow> rows;
  rows.reserve(record->header.aux);
  for (std::uint32_t i = 0; i < record->header.aux; ++i) {
    wire::GpuWorkItem item{};
    std::memcpy(&item, bytes.data() + sizeof *record + i * sizeof item, sizeof item);
    if (static_cast<std::size_t>(item.kind) >= std::size(GpuWorkRow::kKinds) || item.end < item.start) {
      return journal_.bad_record("work of a GPU");
    }
    const auto ago = static_cast<std::int64_t>(record->now - item.start);
    DCMT_ASSIGN_OR_RETURN(GpuWorkRow row, row_of(item, journal_.now.ns - ago));
    rows.push_back(row);
  }
  return journal_.writer.write(std::span<const GpuWorkRow>(rows));
}

Expected<GpuWorkRow> GpuWorkBook::row_of(const wire::GpuWorkItem& item, std::int64_t from_ns) {
  GpuWorkRow row;
  row.from_ns = from_ns;
  row.to_ns = from_ns + static_cast<std::int64_t>(item.end - item.start);
  row.gpu = item.gpu;
  row.kind = GpuWorkRow::kKinds[static_cast<std::size_t>(item.kind)];
  row.bytes = static_cast<std::int64_t>(item.bytes);
  row.graph = item.graph != 0;
  std::uint64_t& handle = handles_.try_emplace({item.gpu, item.stream}, wire::kUnknownStream).first->second;
  std::uint64_t stream = handle;
  if (const auto launch = launches_.find(item.call); launch != launches_.end()) {
    row.where = launch->second.where;
    if (launch->second.stream != wire::kUnknownStream) {
      stream = launch->second.stream;
      if (!row.graph) handle = stream;
    }
  }
  if (stream != wire::kUnknownStream) {
    DCMT_ASSIGN_OR_RETURN(row.stream, streams_.of(stream));
  }
  DCMT_ASSIGN_OR_RETURN(row.name, dictionary_.kernel_name(item.name));
  return row;
}

}  // namespace dcmt::recorder
