// docs/json.md against the documents: every key that is written is documented and every documented key is written, with
// the documented type.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "analyzer/testing/test_trace.h"
#include "cli/doctor.h"
#include "cli/inputs.h"
#include "cli/lint_text.h"
#include "cli/plan_json.h"
#include "cli/ranks_json.h"
#include "cli/report_json.h"

namespace dcmt::cli {
namespace {

using testing::TestTrace;

/// Shapes of docs/json.md: name → key → type.
class Schema {
 public:
  Schema() {
    std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/docs/json.md");
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
      shapes_[shape][name] = line.substr(type, line.find(" |", type) - type);
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
    for (const auto& [name, keys] : shapes_) EXPECT_TRUE(seen_.contains(name)) << "no document has the shape " << name;
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
    }
    for (const auto& [key, item] : value.items()) {
      EXPECT_TRUE(shape->second.contains(key)) << where << ": key '" << key << "' is not documented";
    }
  }

  std::map<std::string, std::map<std::string, std::string>> shapes_;
  std::set<std::string> seen_;
};

/// Traces of three ranks without a common graph number, of which the second one differs in everything.
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
    trace.op("zero3::allgather_param", [&] { trace.gather(rank % 2, trace.allocate(10)); });
    trace.allocate(rank == 1 ? 4 << 20 : 1);
    trace.step(2);
    std::filesystem::copy_file(trace.save(), folder.folder() / "ranks" / ("rank" + std::to_string(rank) + ".dcmt"));
  }
  return {(folder.folder() / "ranks").string()};
}

/// As if the first stretch of findings had been replayed.
Replay replay_of(const LoadedTrace& trace, bool same) {
  Replay replay;
  replay.findings.push_back(&trace.analysis.findings.back());
  const auto region = analyzer::region_of_step(trace.analysis, 1);
  EXPECT_TRUE(region.ok());
  replay.plan = std::move(*analyzer::plan_of(trace.analysis, *region));
  replay.facts = replay.plan.facts;
  if (same) return replay;
  replay.facts.releases.pop_back();
  replay.difference = analyzer::first_difference(replay.plan.facts, replay.facts);
  replay.plan.notes.emplace_back("a note");
  return replay;
}

TEST(JsonSchema, DocumentedKeysAndWrittenKeysAgree) {
  TestTrace trace;
  trace.gpu = 0;
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
  trace.loss("no_room", 1);
  trace.diagnostic("note", "text");
  trace.save();
  TestTrace empty;
  empty.save();
  TestTrace streams;
  testing::add_streams(streams);
  streams.release(1, std::nullopt, {.flags = "final,no_gather"});
  streams.save();
  TestTrace tied;  // two findings keep one storage
  const auto both = tied.allocate(10);
  for (const std::int64_t key : {1, 2}) tied.gather(key, both);
  tied.release(1, both);
  tied.op("aten::mm");
  tied.release(2, both, {.op = "other::release"});
  tied.op("aten::mm");
  tied.allocate(1);
  tied.save();

  const auto traces =
      load_traces({trace.folder().string(), empty.folder().string(), streams.folder().string(), tied.folder().string()},
                  std::nullopt);
  ASSERT_TRUE(traces.ok());
  Schema schema;
  for (const LoadedTrace& loaded : *traces) {
    schema.check(report_json(loaded), "report", "report");
    schema.check(peak_json(loaded), "show peak", "peak");
    schema.check(releases_json(loaded), "show releases", "releases");
    schema.check(live_json(loaded, loaded.analysis.main().device, Sequence(20)), "show live", "live");
    if (const auto story = analyzer::storage_story(*loaded.data, loaded.analysis.releases, StorageId(1))) {
      schema.check(storage_json(loaded, *story), "show storage", "storage");
    }
  }
  for (const TestTrace* written : {&trace, &empty}) {
    auto opened = open_traces({written->folder().string()}, std::nullopt);
    ASSERT_TRUE(opened.ok());
    const auto curve = analyzer::curve_overview(opened->front().database, {"", "", "", 3});
    ASSERT_TRUE(curve.ok()) << curve.error().message;
    schema.check(curve_json(opened->front(), *curve), "show curve", "curve");
  }
  for (const std::vector<std::string>& paths : {run_that_differs(trace), std::vector{empty.folder().string()}}) {
    Expected<std::vector<analyzer::RankFacts>> ranks = load_rank_facts(paths);
    ASSERT_TRUE(ranks.ok());
    const auto comparison = analyzer::compare_ranks(std::move(*ranks));
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    schema.check(ranks_json(*comparison), "show ranks", "ranks");
  }
  for (const bool same : {true, false}) {
    const Replay replay = replay_of(traces->front(), same);
    schema.check(plan_json(traces->front(), replay.plan), "plan", "plan");
    schema.check(reproduce_json(traces->front(), {replay}), "reproduce", "reproduce");
  }
  Linted linted;
  linted.operators = {{"t.dcmt", {"m::wait", "m::wait(Tensor t) -> Tensor", {{0, 0, "t", false, true}}}}};
  UndeletedStorage undeleted{"call", 5, "buf0 = torch.ops.m.gather(arg0_1, 0, 1)", "m::gather", {"buf0"}, {}, 7, 9,
                             1,      8};
  undeleted.names = {{"buf1", 6, "buf1 = buf0", "buf0", 6}};
  linted.files = {{"a.py", "", "", {undeleted}}, {"b.py", "t.dcmt", "line 3: invalid syntax", {}}};
  schema.check(lint_json(linted), "lint", "lint");
  schema.check(diagnosis_json(diagnose("/nonexistent")), "doctor", "doctor");
  Json outer = document("report", Json::array());
  outer.erase("traces");
  schema.check(outer, "document", "document");
  schema.expect_all_seen();
}

TEST(JsonSchema, WhatTheReportSaysOfTheDefect) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 12, 1'048'584, false);
  trace.step(1);
  const auto traces = load_traces({trace.save()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const Json json = report_json(traces->front());
  EXPECT_EQ(json["peak"]["bytes"], 12 * 1'048'584);
  EXPECT_EQ(json["peak"]["predicted_bytes"], 2 * 1'048'584);
  EXPECT_EQ(json["releases"]["late"], 12);
  ASSERT_EQ(json["findings"].size(), 1u);
  const Json& finding = json["findings"][0];
  EXPECT_EQ(finding["classes"], (Json{"D19", "D20"}));
  EXPECT_EQ(finding["items"].size(), 12u);
  EXPECT_EQ(finding["holders"]["paths"][0]["names"][1]["assignment"], "buf1 = buf0");
  EXPECT_TRUE(finding["holders"]["paths"][0]["names"][1]["delete_line"].is_null());
  EXPECT_EQ(finding["unexplained"], 0);
}

TEST(Json, TextThatIsNoUtf8IsPrintedAllTheSame) {
  Json name = "caf\xE9.py";
  EXPECT_EQ(printed(name), "\"caf\xEF\xBF\xBD.py\"");
}

}  // namespace
}  // namespace dcmt::cli
