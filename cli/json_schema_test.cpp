// Compares docs/json.md with the documents: every written key must be documented, and every documented key written,
// with the documented type.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "analyzer/compare/difference.h"
#include "analyzer/gate/verdict.h"
#include "analyzer/generated/linted.h"
#include "analyzer/model/curve_view.h"
#include "analyzer/model/holders_view.h"
#include "analyzer/model/job_view.h"
#include "analyzer/model/kernels_view.h"
#include "analyzer/model/memory_view.h"
#include "analyzer/model/native_view.h"
#include "analyzer/model/proof.h"
#include "analyzer/model/range.h"
#include "analyzer/model/recompute_view.h"
#include "analyzer/model/report.h"
#include "analyzer/model/reserved_view.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/snapshot.h"
#include "analyzer/model/views.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/replay/replay_planner.h"
#include "analyzer/replay/replay_views.h"
#include "analyzer/testing/allocator_program.h"
#include "analyzer/testing/allocator_samples.h"
#include "analyzer/testing/forked_samples.h"
#include "analyzer/testing/gpu_trace.h"
#include "analyzer/testing/gpu_work_samples.h"
#include "analyzer/testing/job_samples.h"
#include "analyzer/testing/layers.h"
#include "analyzer/testing/native_samples.h"
#include "analyzer/testing/object_samples.h"
#include "analyzer/testing/outside_samples.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/testing/watched_story.h"
#include "cli/converted.h"
#include "cli/doctor.h"
#include "cli/doctor_process.h"
#include "cli/inputs.h"
#include "cli/json_schema.h"
#include "cli/json_values.h"
#include "cli/rank_summaries.h"
#include "cli/standby_list.h"
#include "cli/trimmed.h"
#include "trace/sql/database.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::cli {
namespace {

using testing::TestTrace;

/// The rows of docs/json.md by shape.
std::map<std::string, std::vector<SchemaKey>> page() {
  std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/docs/json.md");
  std::map<std::string, std::vector<SchemaKey>> shapes;
  std::string line;
  std::string shape;
  while (std::getline(file, line)) {
    const std::size_t from = line.find('`');
    const std::size_t to = line.find('`', from + 1);
    if (from == std::string::npos || to == std::string::npos) continue;
    const std::string name = line.substr(from + 1, to - from - 1);
    if (line.starts_with("#")) shape = name;
    if (!line.starts_with("| `")) continue;
    const std::size_t type = to + 4;  // past "` | "
    const std::size_t end = line.find(" |", type);
    const std::size_t meaning_from = end + 3;                                 // past " | "
    const std::size_t meaning_to = std::max(line.rfind(" |"), meaning_from);  // " |" if there is none
    const std::string meaning = line.substr(meaning_from, line[meaning_from] == '|' ? 0 : meaning_to - meaning_from);
    shapes[shape].push_back({name, line.substr(type, end - type), meaning});
  }
  return shapes;
}

/// Compares documents with the page: keys, types, and which keys that may be null had a value.
class Schema {
 public:
  Schema() {
    for (const auto& [shape, keys] : page()) {
      for (const SchemaKey& key : keys) shapes_[shape][key.key] = key.type;
    }
  }

  void check(const Json& value, std::string type, const std::string& where) {
    if (type.ends_with(" or null")) {
      if (value.is_null()) return;
      type.resize(type.size() - 8);
    }
    if (type.starts_with("list of ")) {
      ASSERT_TRUE(value.is_array()) << where;
      for (const Json& item : value) check(item, type.substr(8), where);
    } else if (type == "integer") {
      EXPECT_TRUE(value.is_number_integer()) << where << " " << value;
    } else if (type == "number") {
      EXPECT_TRUE(value.is_number()) << where << " " << value;
    } else if (type == "text") {
      EXPECT_TRUE(value.is_string()) << where << " " << value;
    } else if (type == "boolean") {
      EXPECT_TRUE(value.is_boolean()) << where << " " << value;
    } else {
      check_shape(value, type, where);
    }
  }

  void expect_all_seen() const {
    for (const auto& [name, keys] : shapes_) {
      EXPECT_TRUE(seen_.contains(name)) << "no document has the shape " << name;
      for (const auto& [key, type] : keys) {
        const bool seen = !type.ends_with(" or null") || not_null_.contains({name, key});
        EXPECT_TRUE(seen) << "in no document is there a value of " << name << "." << key;
      }
    }
  }

 private:
  void check_shape(const Json& value, const std::string& name, const std::string& where) {
    const auto shape = shapes_.find(name);
    ASSERT_NE(shape, shapes_.end()) << where << ": docs/json.md has no shape '" << name << "'";
    ASSERT_TRUE(value.is_object()) << where << " " << value;
    seen_.insert(name);
    for (const auto& [key, type] : shape->second) {
      ASSERT_TRUE(value.contains(key)) << where << ": documented key '" << key << "' is not written";
      std::string path = where;
      path += "." + key;
      check(value[key], type, path);
      if (!value[key].is_null()) not_null_.emplace(name, key);
    }
    for (const auto& [key, item] : value.items()) {
      EXPECT_TRUE(shape->second.contains(key)) << where << ": key '" << key << "' is not documented";
    }
  }

  std::map<std::string, std::map<std::string, std::string>> shapes_;
  std::set<std::string> seen_;
  std::set<std::pair<std::string, std::string>> not_null_;
};

template <class View>
Json json(const View& view) {
  return Json::parse(json_of(view));
}

/// Traces of three ranks without a common graph number. The second one differs in everything.
std::vector<std::string> run_that_differs(TestTrace& folder) {
  std::filesystem::create_directories(folder.folder() / "ranks");
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.meta_integers["world_size"] = 4;
    trace.graph = 100 + rank;
    trace.parameters = {{-1, 5, "head.weight", "FSDP2"}};
    testing::add_zero3_graph(trace, 2, 1000 + rank % 2, rank == 1);
    trace.step(1);
    for (const std::int64_t key : {std::int64_t{7}, rank % 2}) {
      trace.op("zero3::allgather_param", [&] { trace.gather(key, trace.allocate(10)); });
    }
    const TestTrace::Handle more = trace.allocate(rank == 1 ? 4 << 20 : 1);
    trace.begin_reading();
    trace.held(more, {.path = "main: more", .otherwise = true});
    trace.step(2);
    std::filesystem::copy_file(trace.save(), folder.folder() / "ranks" / ("rank" + std::to_string(rank) + ".dcmt"));
  }
  return {(folder.folder() / "ranks").string()};
}

enum class Differs { kNot, kInARelease, kInTheirNumber };

/// A replay as if the first step had been replayed.
model::Replay replay_of(const LoadedTrace& trace, Differs differs) {
  model::Replay replay;
  replay.findings.push_back(&trace.analysis.findings.back());
  const auto region = analyzer::region_of_step(trace.analysis, 1);
  EXPECT_TRUE(region.ok());
  replay.plan = std::move(*analyzer::plan_of(trace.analysis, *region));
  replay.facts = replay.plan.facts;
  if (differs == Differs::kNot) return replay;
  if (differs == Differs::kInARelease) ++replay.facts.releases.front().allocated.value;
  if (differs == Differs::kInTheirNumber) replay.facts.releases.pop_back();
  replay.difference = analyzer::first_difference(replay.plan.facts, replay.facts);
  replay.plan.notes.emplace_back("a note");
  return replay;
}

TEST(JsonSchema, DocumentedKeysAndWrittenKeysAgree) {
  TestTrace trace;
  trace.gpu = 0;
  trace.stream = 0;
  trace.meta_integers[meta::kRecorderCpuNs] = 1000;
  trace.phase("forward", [&] { testing::add_zero3_graph(trace, 3, 1000, false); });
  trace.allocate(5);
  trace.step(1);
  TestTrace::Handle kept = 0;
  trace.op("zero3::allgather_param", [&] {
    kept = trace.allocate(10);
    trace.gather(7, kept);
  });
  const auto early = trace.allocate(10);
  trace.gather(8, early);
  trace.launches(true, 5);
  const auto release = trace.release(8, early, {}, [&] { trace.last_touch(8, early, "gemm", 2); });
  trace.op("aten::mm", [&] { trace.read(release, 8, early, "aten::mm"); });
  trace.launches(true, 9, 1, 1);
  trace.out_of_memory({.requested = 64, .reserved = 100, .free = 8, .total = 128});
  trace.step(2);
  trace.kept_interval(2, Kept::kAll);
  trace.sums_only_interval(3, 10, 20, 500, 20);
  trace.allocator_peaks(300, 900);
  trace.loss("no_room", 1);
  trace.diagnostic("note", "text");
  {
    Expected<Database> database = Database::open(trace.save(), OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database
                    ->execute("UPDATE edge SET delete_line = 7; UPDATE block SET owner = 1 WHERE id = 1;"
                              "UPDATE mark SET dtype = 1 WHERE kind = 'gather'")
                    .ok());
  }
  TestTrace empty;
  empty.save();
  TestTrace streams;
  testing::add_streams(streams);
  streams.release(1, std::nullopt, {.flags = "final,no_gather"});
  streams.save();
  testing::GpuTrace of_streams;
  TestTrace& in_flight = of_streams;
  const auto used = of_streams.at(1, 0, 64);
  in_flight.stream_call({.kind = "copy", .stream = 1, .uses = {used}, .name = "cuMemcpyAsync"});
  in_flight.drop(used);
  in_flight.reuse(used);
  const auto used_again = of_streams.at(2, 0, 64);
  in_flight.op("aten::zero_",
               [&] { in_flight.stream_call({.kind = "fill", .uses = {used_again}, .name = "cuMemset"}); });
  in_flight.allocator_peaks(64, 64);
  in_flight.save();
  TestTrace tied;  // two findings keep one storage
  const auto both = tied.allocate(10);
  for (const std::int64_t key : {1, 2}) tied.gather(key, both);
  tied.release(1, both);
  tied.op("aten::mm");
  tied.release(2, both, {.op = "other::release"});
  tied.op("aten::mm");
  tied.allocate(1);
  tied.step(1);
  tied.save();

  TestTrace growing;
  for (int step = 0; step < 8; ++step) {
    growing.stack = {{"train.py", "forward", 21}};
    growing.stack.insert(growing.stack.begin(), {"/usr/lib/python3/site-packages/model/layer.py", "forward", 5});
    growing.held(growing.allocate(100), {.containers = {"main: kept"}, .path = "main: kept[0]"});
    growing.stack.erase(growing.stack.begin());
    growing.held(growing.allocate(50), {.path = "main: v.grad_fn MulBackward0._saved_self", .otherwise = true});
    if (step == 3) growing.held(growing.allocate(100), {.path = "main: metric._computed", .otherwise = true});
    if (step % 4 == 3) {
      growing.stack = {{"train.py", "main", 3}};
      growing.drop(growing.allocate(7));
    }
    growing.step(step);
  }
  auto sources = Database::open(growing.save(), OpenMode::kReadWrite);
  ASSERT_TRUE(sources.ok() &&
              sources
                  ->execute("INSERT INTO source(path, text) SELECT id, 'def main():\n    "
                            "kept.append(out)\n    print(torch.cat(kept))' FROM string WHERE text = 'train.py'")
                  .ok());

  TestTrace outside;
  TestTrace files;
  TestTrace objects;
  TestTrace forked;
  TestTrace native;
  TestTrace job;
  for (TestTrace* each : {&outside, &files, &objects, &forked, &native, &job}) {
    for (int step = 0; step < 60; ++step) {
      each->drop(each->allocate(100));
      each->step(step);
    }
  }
  ASSERT_TRUE(testing::add_outside_samples(outside.save(), {.gpu = true, .arrays = true}).ok());
  ASSERT_TRUE(testing::add_outside_samples(files.save(), {}).ok());
  ASSERT_TRUE(testing::add_object_samples(objects.save(), {}).ok());
  ASSERT_TRUE(testing::add_forked_children(forked.save(), {}).ok());
  ASSERT_TRUE(testing::add_native_samples(native.save(), {}).ok());
  ASSERT_TRUE(testing::add_job_samples(job.save(), {}).ok());

  TestTrace twice;
  std::vector<TestTrace::Handle> state;
  for (const std::int64_t size : {1000, 2000, 4000}) {
    twice.stack = {{"train.py", "main", 3}};
    twice.held(twice.allocate(size), {.path = "main: model", .role = "parameter"});
  }
  for (const std::int64_t size : {1000, 2000, 4000}) {
    twice.stack = {{"train.py", "main", 4}};
    state.push_back(twice.allocate(size));
  }
  for (const TestTrace::Handle each : state) twice.drop(each);
  twice.allocate(1);
  twice.save();

  TestTrace fenced;
  TestTrace::Handle left = 0;
  fenced.op("zero3::allgather_param", [&] {
    left = fenced.allocate(10);
    fenced.gather(1, left);
  });
  const std::int64_t release_of_left = fenced.release(1, left);
  fenced.op("aten::mm");
  fenced.fence(release_of_left, 1, left);
  fenced.op(
      "MulBackward0", [&] { fenced.fence_touch(release_of_left, 1, left, "aten::mul"); }, "backward");
  fenced.save();

  TestTrace reserved, not_modelled;
  for (TestTrace* each : {&reserved, &not_modelled}) {
    each->gpu = 0;
    for (int i = 0; i < 10; ++i) each->drop(each->allocate(100));
    each->allocator_peaks(36 << 20, 62 << 20);
    ASSERT_TRUE(testing::add_allocator_samples(each->save(), each == &reserved).ok());
  }

  TestTrace fragmented, refused;
  testing::AllocatorProgram program;
  program.use({500 << 20, 10});
  program.allocate({4 << 20, 20, 0, 0, "main: cache"});
  program.record(refused, {}, {}, {{520 << 20, 100 << 20}});
  program.use({500 << 20, 10});
  program.record(fragmented, {}, {});

  TestTrace kept_on_gpu;
  kept_on_gpu.gpu = 0;
  testing::add_zero3_graph(kept_on_gpu, 4, 30 << 20, false);
  kept_on_gpu.allocator_peaks(120 << 20, 120 << 20);
  ASSERT_TRUE(testing::add_segment_of_each_block(kept_on_gpu.save()).ok());

  TestTrace layers;
  testing::add_step_of_layers(layers, 3, 2, 1000);
  layers.save();

  TestTrace watched;
  watched.allocate(10);
  ASSERT_TRUE(testing::add_watched_counts(watched.save()).ok());

  std::vector<std::string> folders;
  for (const TestTrace* each : {&trace,        &layers,     &empty,   &streams,     &growing, &outside,   &files,
                                &objects,      &forked,     &native,  &job,         &twice,   &fenced,    &reserved,
                                &not_modelled, &fragmented, &refused, &kept_on_gpu, &watched, &in_flight, &tied})
    folders.push_back(each->folder().string());
  const auto traces = load_traces(folders, std::nullopt);
  ASSERT_TRUE(traces.ok());
  Schema schema;
  for (const LoadedTrace& loaded : *traces) {
    const std::string& path = loaded.path;
    const analyzer::Analysis& analysis = loaded.analysis;
    schema.check(json(model::report_of(path, analysis)), "report", "report");
    schema.check(json(model::peak_view(path, analysis)), "show peak", "peak");
    schema.check(json(model::releases_view(path, analysis)), "show releases", "releases");
    if (const auto live = model::live_view(path, analysis, "20", false); live.ok()) {
      schema.check(json(*live), "show live", "live");
    }
    for (const std::int64_t storage : {1, 5}) {
      const auto view = model::storage_view(path, analysis, StorageId(storage));
      if (view.ok()) schema.check(json(*view), "show storage", "storage");
    }
    if (const auto saved = model::saved_view(path, analysis, "end"); saved.ok()) {
      schema.check(json(*saved), "show saved", "saved");
    }
    schema.check(json(model::recompute_view(path, analysis)), "show recompute", "recompute");
    schema.check(json(model::memory_view(path, analysis)), "show memory", "memory");
    model::JobOfTrace of_trace;
    of_trace.path = path;
    of_trace.history = loaded.data->job;
    of_trace.pinned.emplace_back().asked = Bytes(1000);
    of_trace.gpus.emplace_back().used = Bytes(3000);
    for (const model::JobView& view : model::job_views({of_trace})) {
      schema.check(json(view), "show memory --job", "job");
    }
    schema.check(json(model::native_view(path, analysis)), "show native", "native");
    for (const std::vector<std::string>& ifs : {std::vector<std::string>{"max_split_size_mb:64"}, {}}) {
      const auto view = model::reserved_view(path, analysis, "oom", ifs);
      if (view.ok()) schema.check(json(*view), "show reserved", "reserved");
    }
    for (const std::string asked : {"finding:1", "storage:1"}) {
      const auto view = model::holders_view(path, analysis, asked);
      if (view.ok()) schema.check(json(*view), "show holders", "holders of " + asked);
    }
  }
  TestTrace worked;
  worked.op("aten::mm", [&] { worked.allocate(10); });
  const std::string worked_path = worked.save();
  ASSERT_TRUE(testing::add_gpu_work(worked_path).ok());
  {
    auto opened = open_traces({worked_path}, std::nullopt);
    ASSERT_TRUE(opened.ok());
    Database& database = opened->front().database;
    const auto data = analyzer::TraceData::load(database);
    ASSERT_TRUE(data.ok());
    auto gpus = analyzer::gpu_timelines(*data, database);
    ASSERT_TRUE(gpus.ok()) << gpus.error().message;
    schema.check(json(model::KernelsView{"", 0, std::move(*gpus)}), "show kernels", "kernels");
  }
  for (const TestTrace* written : {&trace, &empty}) {
    auto opened = open_traces({written->folder().string()}, std::nullopt);
    ASSERT_TRUE(opened.ok());
    const auto curve = analyzer::curve_overview(opened->front().database, {"", "", "", 3});
    ASSERT_TRUE(curve.ok()) << curve.error().message;
    schema.check(json(model::CurveView{"", 0, *curve}), "show curve", "curve");
  }
  for (const std::vector<std::string>& paths : {run_that_differs(trace), std::vector{empty.folder().string()}}) {
    Expected<std::vector<analyzer::RankFacts>> ranks = load_rank_facts(paths);
    ASSERT_TRUE(ranks.ok());
    const auto comparison = analyzer::compare_ranks(std::move(*ranks));
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    schema.check(Json::parse(JsonDocument("show ranks").with(*comparison)), "show ranks", "ranks");
  }
  for (const LoadedTrace* loaded : {&traces->front(), &traces->back()}) {
    for (const Differs differs : {Differs::kNot, Differs::kInARelease, Differs::kInTheirNumber}) {
      std::vector<model::Replay> replays;
      replays.push_back(replay_of(*loaded, differs));
      const auto plan = model::plan_file(loaded->path, *loaded->data, replays.front().plan);
      schema.check(Json::parse(versioned_json(plan)), "plan", "plan");
      schema.check(json(model::reproduce_view(loaded->path, loaded->analysis, replays)), "reproduce", "reproduce");
    }
  }
  model::DifferentResult different;
  different.name = "torch::autograd::AccumulateGrad";
  const model::ProvedProcess proved{
      "t.dcmt", {}, model::ComparedResults{1, 2, different}, model::FreedPeak{Bytes(8), Bytes(4), Bytes(4)}};
  schema.check(Json::parse(JsonDocument("prove").with(model::ProvedRun{"touched", "free", "out", 0, {proved}})),
               "prove", "prove");
  analyzer::Linted linted;
  linted.operators = {{"t.dcmt", {"m::wait", "m::wait(Tensor t) -> Tensor", {{0, 0, "t", false, true}}}}};
  analyzer::UndeletedStorage undeleted{
      "call", 5, "buf0 = torch.ops.m.gather(arg0_1, 0, 1)", "m::gather", {"buf0"}, {}, 7, 9, 1, 8};
  undeleted.names = {{"buf1", 6, "buf1 = buf0", "buf0", 6}};
  linted.files = {{"a.py", "", "", {undeleted}}, {"b.py", "t.dcmt", "line 3: invalid syntax", {}}};
  schema.check(Json::parse(JsonDocument("lint").with(linted)), "lint", "lint");
  analyzer::Difference difference;
  difference.order.first = difference.order.lifetimes = 1;
  analyzer::NumberDifference number{"peak.forward", 8, 16, {{}}};
  number.modules = {{}};
  difference.numbers = {number};
  difference.steps = {{}};
  difference.findings = {{}};
  difference.lives.bars = {{}};
  difference.lives.bars[0].most = 1;
  difference.lives.bars[0].before_lived = difference.lives.bars[0].after_lived = TimeNs(1);
  difference.graph.fields = {{}};
  analyzer::RunRow row;
  row.step_time = TimeNs(1);
  row.reserved = Bytes(8);
  row.peak_step = 1;
  const analyzer::RunsDifference runs{{row}, {difference}, {{"a", "b", {1}}}, {"worker.dcmt"}};
  schema.check(Json::parse(JsonDocument("diff").with(runs)), "diff", "diff");
  gate::Cause cause{"/repo/train.py", 12,        "train.py step", "train.py:30 main", "main: kept", 8, 1, 1,
                    "grows",          "clear it"};
  gate::CheckedFact fact;
  fact.name = "peak.forward";
  fact.baseline = fact.anchor = 8;
  fact.now = 16;
  fact.causes = {cause};
  gate::Verdict verdict;
  verdict.reasons = verdict.warnings = verdict.traces = {"one"};
  verdict.facts = {fact};
  schema.check(Json::parse(JsonDocument("check").with(gate::Checks{{verdict}})), "check", "check");
  model::Snapshot snapshot;
  snapshot.storages = {{0x7000, Bytes(64), 1, "parameter", {{"main.model", true}}}};
  snapshot.retained = {{"main.opt", "AdamW", Bytes(128), 2, 1, true}};
  snapshot.pid = 4711;
  schema.check(Json::parse(JsonDocument("snapshot").with(snapshot)), "snapshot", "snapshot of a process");
  snapshot.pid.reset();
  snapshot.core = "core.4711";
  schema.check(Json::parse(JsonDocument("snapshot").with(snapshot)), "snapshot", "snapshot of a core file");
  schema.check(Json::parse(JsonDocument("convert").with(Converted{"a.dcmt", "a.csv", "csv", "curve"})), "convert",
               "convert");
  schema.check(Json::parse(JsonDocument("trim").with(Trimmed{"a.dcmt", "b.dcmt"})), "trim", "trim");
  schema.check(Json::parse(JsonDocument("status").with(StandbyList{{{4711, 0, "recorded", 4712, 1, "python train.py"},
                                                                    {4713, -1, "idle", std::nullopt, 0, "python"}}})),
               "status", "status");
  schema.check(Json::parse(JsonDocument("doctor process")
                               .with(ProcessDiagnosis{4711, {{"standby", false, true, "it is not", "start it so"}}})),
               "doctor process", "doctor of a process");
  schema.check(Json::parse(JsonDocument("doctor").with(diagnose({"/nonexistent", ""}, "/nonexistent/python"))),
               "doctor", "doctor");
  std::ostringstream without_traces;
  TracesDocument("report", without_traces).finish();
  Json outer = Json::parse(without_traces.str());
  outer.erase("traces");
  schema.check(outer, "document", "document");
  schema.expect_all_seen();
}

/// Compares name, type and meaning of each key, in the order of the documents.
TEST(JsonSchema, ThePageSaysWhatTheModelSays) {
  JsonSchema model;
  model.add<model::Report>();
  model.add<model::ReleasesView>();
  model.add<model::PeakView>();
  model.add<model::LiveView>();
  model.add<model::StorageView>();
  model.add<model::HoldersView>();
  model.add<model::SavedView>();
  model.add<model::RecomputeView>();
  model.add<model::JobView>();
  model.add<model::KernelsView>();
  model.add<model::MemoryView>();
  model.add<model::NativeView>();
  model.add<model::ReservedView>();
  model.add<model::CurveView>();
  model.add<analyzer::RankComparison>();
  model.add<model::ReproduceView>();
  model.add<model::PlanFile>();
  model.add<model::ProvedRun>();
  model.add<analyzer::Linted>();
  model.add<analyzer::RunsDifference>();
  model.add<gate::Checks>();
  model.add<model::Snapshot>();
  model.add<Diagnosis>();
  model.add<ProcessDiagnosis>();
  model.add<StandbyList>();
  model.add<Converted>();
  model.add<Trimmed>();
  auto written = page();
  written.erase("document");  // the keys around the objects of traces
  for (const auto& [shape, keys] : written) EXPECT_TRUE(model.shapes().contains(shape)) << shape;
  for (const std::string command : {"show ranks", "prove", "diff", "check", "lint", "snapshot", "doctor",
                                    "doctor process", "status", "convert", "trim"}) {
    auto& keys = model.shapes()[command];
    keys.insert(keys.begin(), {{"version", "integer", "of this page"}, {"command", "text", '"' + command + '"'}});
  }
  auto& plan = model.shapes()["plan"];
  plan.insert(plan.begin(), {"version", "integer", "of this page"});
  for (const auto& [shape, keys] : model.shapes()) {
    const std::vector<SchemaKey>& on_page = written[shape];
    for (std::size_t i = 0; i < std::max(keys.size(), on_page.size()); ++i) {
      const SchemaKey own = i < keys.size() ? keys[i] : SchemaKey();
      const SchemaKey there = i < on_page.size() ? on_page[i] : SchemaKey();
      EXPECT_EQ(own.key, there.key) << shape;
      EXPECT_EQ(own.type, there.type) << shape << "." << own.key;
      EXPECT_EQ(own.meaning, there.meaning) << shape << "." << own.key;
    }
  }
}

TEST(JsonSchema, WhatTheReportSaysOfTheDefect) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 12, 1'048'584, false);
  trace.step(1);
  const auto traces = load_traces({trace.save()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const Json report = json(model::report_of(traces->front().path, traces->front().analysis));
  EXPECT_EQ(report["peak"]["bytes"], 12 * 1'048'584);
  EXPECT_EQ(report["peak"]["predicted_bytes"], 2 * 1'048'584);
  EXPECT_EQ(report["releases"]["late"], 12);
  ASSERT_EQ(report["findings"].size(), 1u);
  const Json& finding = report["findings"][0];
  EXPECT_EQ(finding["classes"], (Json{"D19", "D20"}));
  EXPECT_EQ(finding["items"].size(), 12u);
  EXPECT_EQ(finding["holders"]["paths"][0]["names"][1]["assignment"], "buf1 = buf0");
  EXPECT_TRUE(finding["holders"]["paths"][0]["names"][1]["delete_line"].is_null());
  EXPECT_EQ(finding["unexplained"], 0);
}

struct TextRow {
  std::string text;
  static constexpr std::string_view kShape = "text_row";
  static void describe(auto&& field) { field("text", &TextRow::text, ""); }
};
struct LongTable {
  model::Range<TextRow> rows;
  static constexpr std::string_view kShape = "long_table";
  static void describe(auto&& field) { field("rows", &LongTable::rows, ""); }
};

TEST(Json, ADocumentIsWrittenAsItComes) {
  std::ostringstream out;
  std::size_t most_kept = 0;
  std::size_t made = 0;
  const LongTable rows{{10'000, [&](std::size_t) {
                          made += 100;
                          most_kept = std::max(most_kept, made - std::min(made, out.str().size()));
                          return TextRow{std::string(100, 'x')};
                        }}};
  TracesDocument document("test", out);
  document.add(rows);
  document.finish();
  EXPECT_EQ(Json::parse(out.str())["traces"][0]["rows"].size(), 10'000u);
  EXPECT_LT(most_kept, 100'000u) << "of more than a million";
}

TEST(Json, TextThatIsNoUtf8IsPrintedAllTheSame) {
  const std::string name = "caf\xE9.py";
  EXPECT_EQ(json_of(name), "\"caf\xEF\xBF\xBD.py\"");
}

}  // namespace
}  // namespace dcmt::cli
