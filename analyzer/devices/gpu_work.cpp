#include "analyzer/devices/gpu_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/load/table_reader.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

class Timeline {
 public:
  Timeline(const TraceData& data, std::int64_t gpu) : data_(data) { timeline_.gpu = gpu; }

  /// Add work by its begin.
  void add(const GpuWork& work) {
    const std::int64_t length = work.to.value - work.from.value;
    if (timeline_.count++ == 0) begin_ = end_ = work.from;
    timeline_.busy.value += std::max<std::int64_t>(0, work.to.value - std::max(end_, work.from).value);
    timeline_.time.value += length;
    end_ = std::max(end_, work.to);
    OfName& of_name = names_[name_of(data_, work)];
    ++of_name.group.count;
    of_name.group.time.value += length;
    of_name.group.bytes.value += work.bytes.value;
    if (work.stream) of_name.streams.insert(*work.stream);
    const Operator* op = data_.operators.find(work.by.op);
    of_name.places[{work.by.stack, op != nullptr ? op->name : StringId()}] += length;
  }

  GpuTimeline finish() {
    timeline_.length = TimeNs(end_.value - begin_.value);
    for (auto& [name, of_name] : names_) {
      GpuWorkGroup group = std::move(of_name.group);
      group.name = name;
      group.streams.assign(of_name.streams.begin(), of_name.streams.end());
      const auto& [place, time] =
          *std::ranges::max_element(of_name.places, {}, [](const auto& each) { return each.second; });
      if (place.first.valid()) group.site = describe_site(data_, place.first);
      if (place.second.valid()) group.operator_name = data_.text(place.second);
      timeline_.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(timeline_.groups, std::greater{}, &GpuWorkGroup::time);
    return std::move(timeline_);
  }

 private:
  struct OfName {
    GpuWorkGroup group;
    std::set<std::int64_t> streams;
    std::map<std::pair<StackId, StringId>, std::int64_t> places;  ///< time, by stack and operator
  };

  const TraceData& data_;
  GpuTimeline timeline_;
  TimeNs begin_, end_;
  std::map<std::string, OfName> names_;
};

}  // namespace

Status each_gpu_work(Database& database, const std::function<Status(const GpuWork&)>& visit) {
  Status failed;
  DCMT_RETURN_IF_ERROR(read_rows<GpuWork>(
      database, "ORDER BY from_ns",
      [&](const GpuWork& work) {
        if (failed.ok()) failed = visit(work);
      },
      column<&GpuWorkRow::from_ns, &GpuWork::from>(), column<&GpuWorkRow::to_ns, &GpuWork::to>(),
      column<&GpuWorkRow::gpu, &GpuWork::gpu>(), column<&GpuWorkRow::stream, &GpuWork::stream>(),
      column<&GpuWorkRow::kind>([](GpuWork& work, std::string_view kind) { work.kind = kind; }),
      column<&GpuWorkRow::name, &GpuWork::name>(), column<&GpuWorkRow::bytes, &GpuWork::bytes>(),
      column<&GpuWorkRow::graph, &GpuWork::graph>(), column<&GpuWorkRow::where, &GpuWork::by>()));
  return failed;
}

std::string name_of(const TraceData& data, const GpuWork& work) {
  return work.name.valid() ? std::string(data.text(work.name)) : work.kind;
}

Expected<std::vector<GpuTimeline>> gpu_timelines(const TraceData& data, Database& database) {
  std::map<std::int64_t, Timeline> by_gpu;
  DCMT_RETURN_IF_ERROR(each_gpu_work(database, [&](const GpuWork& work) -> Status {
    by_gpu.try_emplace(work.gpu, data, work.gpu).first->second.add(work);
    return Status();
  }));
  std::vector<GpuTimeline> timelines;
  for (auto& [gpu, timeline] : by_gpu) timelines.push_back(timeline.finish());
  return timelines;
}

}  // namespace dcmt::analyzer
