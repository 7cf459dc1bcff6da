// Programs that are fragmented, and programs that are not. What they would reserve after a change comes from a second
// model of the allocator (analyzer/testing/simulated_allocator.h).
#include <gtest/gtest.h>

#include <charconv>
#include <random>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/allocator_program.h"
#include "analyzer/testing/gpu_trace.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using testing::AllocatorProgram;
using testing::GpuTrace;
using testing::loaded_trace;
using testing::SimulatedSettings;
using testing::TestTrace;

struct ProgramOf {
  std::string name;
  std::function<void(AllocatorProgram&)> make;
  RemedyKind best = RemedyKind::kSetting;
  std::string settings = {};
};

std::int64_t value_of(std::string_view setting) {
  std::int64_t number = 0;
  const std::string_view value = setting.substr(setting.find(':') + 1);
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

SimulatedSettings simulated(std::string_view text) {
  SimulatedSettings settings;
  for (const std::string& each : single_settings(text)) {
    if (each == "expandable_segments:True") settings.expandable = true;
    if (each.starts_with("max_split_size_mb")) settings.max_split = value_of(each) * kMiB;
    if (each.starts_with("roundup_power2_divisions")) settings.divisions = value_of(each);
    if (each.starts_with("large_segment_size_mb")) settings.large_segment = value_of(each) * kMiB;
  }
  return settings;
}

/// What the program reserves after the change.
std::int64_t reserved_with(const AllocatorProgram& program, const Remedy& remedy) {
  const auto change = [&](AllocatorProgram::Request& request) {
    if (remedy.kind == RemedyKind::kOneStream) request.stream = 0;
    if (remedy.kind == RemedyKind::kOnePool && request.pool != 0) request.pool = 1;
    const std::string place = "user/train.py:" + std::to_string(request.line) + " main";
    if (remedy.kind == RemedyKind::kOwnPool && remedy.change == place) request.pool = 99;
  };
  return program.run(simulated(remedy.settings), change).reserved;
}

/// Forty segments, each with a small block that stays.
void keep_in_each_segment(AllocatorProgram& run) {
  std::vector<std::size_t> large, rest;
  for (int i = 0; i < 40; ++i) large.push_back(run.allocate({60 * kMiB, 10}));
  for (const std::size_t each : large) {
    run.free(each);
    run.allocate({4 * kMiB, 20, 0, 0, "main: cache"});
    rest.push_back(run.allocate({56 * kMiB, 30}));
  }
  for (const std::size_t each : rest) run.free(each);
}

/// Then as many large blocks as before do not fit between them.
void keep_in_each_segment_and_go_on(AllocatorProgram& run) {
  keep_in_each_segment(run);
  std::vector<std::size_t> large;
  for (int i = 0; i < 40; ++i) large.push_back(run.allocate({60 * kMiB, 10}));
  for (const std::size_t each : large) run.free(each);
}

const std::vector<ProgramOf>& fragmented_programs() {
  static const std::vector<ProgramOf> kPrograms = {
      {"blocks are kept where a large one was",
       [](auto& run) {
         for (int i = 0; i < 6; ++i) {
           run.use({500 * kMiB, 10});
           run.allocate({4 * kMiB, 20, 0, 0, "main: cache"});
         }
       }},
      {"each sequence is longer than the one before",
       [](auto& run) {
         for (int i = 0; i < 20; ++i) run.use({(100 + 15 * i) * kMiB, 10});
       }},
      {"two buffers of lengths that change",
       [](auto& run) {
         std::mt19937 random(1);
         std::size_t last = run.allocate({300 * kMiB, 10});
         for (int i = 0; i < 40; ++i) {
           const std::size_t next = run.allocate({static_cast<std::int64_t>(50 + random() % 350) * kMiB, 10});
           run.free(last);
           last = next;
         }
       }},
      {"a block is kept in each large segment", keep_in_each_segment_and_go_on, RemedyKind::kOwnPool},
      {"one buffer after the other, each on its own stream",
       [](auto& run) {
         for (int i = 0; i < 8; ++i) run.use({256 * kMiB, 10, i});
       },
       RemedyKind::kOneStream},
      {"streams that take turns with work of other sizes",
       [](auto& run) {
         for (int round = 0; round < 3; ++round) {
           for (int i = 0; i < 5; ++i) run.use({(200 - 10 * round) * kMiB, 10 + i, i});
         }
       },
       RemedyKind::kOneStream},
      {"each graph has its own pool",
       [](auto& run) {
         for (int i = 1; i <= 6; ++i) run.use({300 * kMiB, 10, 0, i});
       },
       RemedyKind::kOnePool},
      {"pools of graphs of several sizes",
       [](auto& run) {
         run.allocate({100 * kMiB, 5});
         for (int i = 1; i <= 4; ++i) {
           for (int part = 0; part < 3; ++part) run.use({(120 + 10 * part) * kMiB, 10, 0, i});
         }
       },
       RemedyKind::kOnePool},
      {"sizes are rounded to powers of two",
       [](auto& run) {
         for (int i = 0; i < 8; ++i) run.allocate({130 * kMiB, 10});
       },
       RemedyKind::kWithoutSetting, "roundup_power2_divisions:2"},
      {"large cached blocks are not used for less",
       [](auto& run) {
         for (int i = 0; i < 10; ++i) run.use({(600 - 40 * i) * kMiB, 10});
       },
       RemedyKind::kWithoutSetting, "max_split_size_mb:64"},
      {"activations of random sizes, with outputs that stay",
       [](auto& run) {
         std::mt19937 random(7);
         for (int step = 0; step < 15; ++step) {
           std::vector<std::size_t> saved;
           for (int layer = 0; layer < 8; ++layer) {
             saved.push_back(run.allocate({static_cast<std::int64_t>(10 + random() % 80) * kMiB, 10}));
           }
           run.allocate({3 * kMiB, 20, 0, 0, "main: outputs"});
           for (; !saved.empty(); saved.pop_back()) run.free(saved.back());
         }
       }},
      {"blocks stay beside what is larger each time",
       [](auto& run) {
         for (int i = 0; i < 8; ++i) {
           run.use({(200 + 30 * i) * kMiB, 10});
           run.allocate({15 * kMiB, 20, 0, 0, "main: kept"});
         }
       },
       RemedyKind::kSetting},
  };
  return kPrograms;
}

const std::vector<ProgramOf>& whole_programs() {
  static const std::vector<ProgramOf> kPrograms = {
      {"each step is alike",
       [](auto& run) {
         for (int i = 0; i < 4; ++i) run.allocate({200 * kMiB, 5});
         for (int step = 0; step < 10; ++step) {
           const std::size_t first = run.allocate({300 * kMiB, 10}), second = run.allocate({150 * kMiB, 11});
           run.free(second);
           run.free(first);
         }
       }},
      {"a list that grows",
       [](auto& run) {
         for (int i = 0; i < 60; ++i) run.allocate({30 * kMiB, 10, 0, 0, "main: kept"});
       }},
      {"sequences that get shorter",
       [](auto& run) {
         for (int i = 0; i < 20; ++i) run.use({(400 - 15 * i) * kMiB, 10});
       }},
      {"a ring of buffers",
       [](auto& run) {
         std::vector<std::size_t> ring;
         for (int i = 0; i < 40; ++i) {
           ring.push_back(run.allocate({100 * kMiB, 10}));
           if (ring.size() < 5) continue;
           run.free(ring.front());
           ring.erase(ring.begin());
         }
       }},
      {"small blocks",
       [](auto& run) {
         std::vector<std::size_t> blocks;
         for (int i = 0; i < 400; ++i) blocks.push_back(run.allocate({1'000'000, 10}));
         for (std::size_t i = 0; i < blocks.size(); i += 2) run.free(blocks[i]);
         for (int i = 0; i < 200; ++i) run.allocate({900'000, 11});
       }},
      {"two streams at the same time",
       [](auto& run) {
         for (int i = 0; i < 10; ++i) {
           const std::size_t first = run.allocate({300 * kMiB, 10, 0}), second = run.allocate({300 * kMiB, 11, 1});
           run.free(first);
           run.free(second);
         }
       }},
      {"one graph",
       [](auto& run) {
         for (int i = 0; i < 10; ++i) run.use({300 * kMiB, 10, 0, 3});
       }},
      {"two graphs whose memory stays in use",
       [](auto& run) {
         for (int i = 1; i <= 2; ++i) run.allocate({400 * kMiB, 10, 0, i});
       }},
      {"little of it is fragmented",
       [](auto& run) {
         run.allocate({3000 * kMiB, 5});
         for (int i = 0; i < 6; ++i) {
           run.use({60 * kMiB, 10});
           run.allocate({4 * kMiB, 20});
         }
       }},
      {"it is fragmented, but small",
       [](auto& run) {
         for (int i = 0; i < 3; ++i) {
           run.use({20 * kMiB, 10});
           run.allocate({2 * kMiB, 20});
         }
       }},
      {"expandable segments with sequences that get longer",
       [](auto& run) {
         for (int i = 0; i < 20; ++i) run.use({(100 + 15 * i) * kMiB, 10});
       },
       RemedyKind::kSetting, "expandable_segments:True"},
      {"one peak, and less afterwards",
       [](auto& run) {
         run.use({2000 * kMiB, 10});
         for (int i = 0; i < 30; ++i) run.allocate({20 * kMiB, 11});
       }},
  };
  return kPrograms;
}

class FragmentedPrograms : public ::testing::TestWithParam<std::size_t> {};
class WholePrograms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FragmentedPrograms, TheChangeGivesWhatWasPromised) {
  const ProgramOf& of = fragmented_programs()[GetParam()];
  SCOPED_TRACE(of.name);
  AllocatorProgram program;
  of.make(program);
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, simulated(of.settings), of.settings));
  const Analysis analysis = analyze(data);
  const auto found = std::ranges::find(analysis.findings, "fragmented", &Finding::rule);
  ASSERT_NE(found, analysis.findings.end());
  const Fragmentation& fragmentation = *found->fragmentation;
  ASSERT_FALSE(fragmentation.not_predicted) << *fragmentation.not_predicted;
  const std::int64_t had = program.run(simulated(of.settings)).reserved;
  EXPECT_EQ(fragmentation.reserved.value, had);
  std::int64_t sum = 0;
  for (const ReservedRow& row : fragmentation.rows) sum += row.bytes.value;
  EXPECT_EQ(sum, had) << "each byte has a row";
  const Remedy* best = fragmentation.best();
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->kind, of.best) << best->change;
  EXPECT_EQ(found->bytes, best->gives_back);
  std::int64_t lowest = had;
  for (const Remedy& each : fragmentation.remedies) {
    const std::int64_t reserved = reserved_with(program, each);
    EXPECT_EQ(each.reserved_peak.value, reserved) << name_of(each.kind) << " " << each.change;
    EXPECT_EQ(each.gives_back.value, had - reserved);
    EXPECT_EQ(each.helps, had - reserved >= 64 * kMiB && had - reserved >= had / 5) << each.change;
    lowest = std::min(lowest, reserved);
  }
  EXPECT_LE(best->reserved_peak.value, lowest + (had - lowest) / 10 + 1) << "of the best, a setting comes first";
}

TEST_P(WholePrograms, NothingIsFound) {
  const ProgramOf& of = whole_programs()[GetParam()];
  SCOPED_TRACE(of.name);
  AllocatorProgram program;
  of.make(program);
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, simulated(of.settings), of.settings));
  for (const Finding& finding : analyze(data).findings) EXPECT_NE(finding.rule, "fragmented") << finding.fix;
  const std::int64_t had = program.run(simulated(of.settings)).reserved;
  for (const std::string_view setting : {"expandable_segments:True", "max_split_size_mb:128",
                                         "roundup_power2_divisions:4", "large_segment_size_mb:64"}) {
    const std::int64_t gives_back = had - program.run(simulated(joined_settings(of.settings, setting))).reserved;
    EXPECT_TRUE(gives_back < 64 * kMiB || gives_back < had / 5) << "the premise: " << setting;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, FragmentedPrograms, ::testing::Range(std::size_t{0}, fragmented_programs().size()));
INSTANTIATE_TEST_SUITE_P(Programs, WholePrograms, ::testing::Range(std::size_t{0}, whole_programs().size()));

TEST(Fragmented, TheBlockThatKeepsMostIsNamedWithItsLineAndHolder) {
  AllocatorProgram program;
  keep_in_each_segment_and_go_on(program);
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, {}, {}));
  const Analysis analysis = analyze(data);
  const auto found = std::ranges::find(analysis.findings, "fragmented", &Finding::rule);
  ASSERT_NE(found, analysis.findings.end());
  const Fragmentation& fragmentation = *found->fragmentation;
  EXPECT_EQ(fragmentation.kept_segments, 40);
  ASSERT_EQ(fragmentation.kept.size(), 3U);
  const KeptSegment& kept = fragmentation.kept.front();
  EXPECT_EQ(kept.free.value, 56 * kMiB);
  EXPECT_EQ(kept.largest.front().bytes.value, 4 * kMiB);
  EXPECT_EQ(kept.largest.front().site, "user/train.py:20 main");
  EXPECT_EQ(kept.largest.front().holder, "main: cache");
  const auto own = std::ranges::find(fragmentation.remedies, RemedyKind::kOwnPool, &Remedy::kind);
  ASSERT_NE(own, fragmentation.remedies.end());
  EXPECT_EQ(own->change, "user/train.py:20 main");
  EXPECT_TRUE(own->helps);
}

const Finding* finding_of(const Analysis& analysis, std::string_view rule) {
  const auto found = std::ranges::find(analysis.findings, rule, &Finding::rule);
  return found != analysis.findings.end() ? &*found : nullptr;
}

TEST(FragmentedAtAnError, TheSettingThatWouldFitIsNamed) {
  AllocatorProgram program;
  keep_in_each_segment(program);
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, {}, {}, {{1500 * kMiB, 100 * kMiB}}));
  const Analysis analysis = analyze(data);
  const Finding* found = finding_of(analysis, "fragmented");
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->fragmentation->at_error);
  const Remedy* best = found->fragmentation->best();
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->change, "expandable_segments:True");
  EXPECT_EQ(best->fits, true);
  const Finding* error = finding_of(analysis, "out_of_memory");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->fix, "finding " + std::to_string(found->number) + ": PYTORCH_ALLOC_CONF=expandable_segments:True");
}

TEST(FragmentedAtAnError, ThatNothingHelpsIsSaid) {
  AllocatorProgram program;
  std::vector<std::size_t> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(program.allocate({8 * kMiB, 10}));
  for (std::size_t i = 0; i < blocks.size(); i += 2) program.free(blocks[i]);
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, {}, {}, {{900 * kMiB, 0}}));
  const Analysis analysis = analyze(data);
  const Finding* found = finding_of(analysis, "fragmented");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->fragmentation->best(), nullptr);
  EXPECT_FALSE(found->fragmentation->remedies.empty());
  EXPECT_TRUE(found->fix.starts_with("no setting of these helps")) << found->fix;
}

TEST(FragmentedAtAnError, ARequestThatNeverFitsIsNone) {
  AllocatorProgram program;
  program.allocate({500 * kMiB, 10});
  TestTrace trace;
  const TraceData data = loaded_trace(program.record(trace, {}, {}, {{9000 * kMiB, 100 * kMiB}}));
  EXPECT_EQ(finding_of(analyze(data), "fragmented"), nullptr);
}

TEST(FragmentedUnderAChangedLimit, TheCauseIsUnknown) {
  AllocatorProgram program;
  keep_in_each_segment_and_go_on(program);
  TestTrace trace;
  const TraceData data = loaded_trace(
      program.record(trace, {}, {}, {}, "UPDATE allocator SET limit_bytes = " + std::to_string(1000 * kMiB) + ";"));
  const Analysis analysis = analyze(data);
  const Finding* found = finding_of(analysis, "fragmented");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->confidence, Confidence::kUnknown);
  EXPECT_EQ(found->fragmentation->not_predicted,
            "the limit of the process changed: it was 1000.0 MiB, and later 4.7 GiB were reserved");
}

TEST(RemarksOfSettings, SayWhichHadNoEffectAndWhy) {
  AllocatorProgram program;
  program.allocate({500 * kMiB, 10});
  TestTrace trace;
  trace.meta_texts["allocator_variables"] =
      "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64;PYTORCH_CUDA_ALLOC_CONFIG=expandable_segments:True";
  const TraceData data = loaded_trace(program.record(trace, simulated("max_split_size_mb:64"), "max_split_size_mb:64"));
  std::vector<std::string> texts;
  for (const Remark& remark : analyze(data).remarks) {
    if (remark.kind == RemarkKind::kSetting) texts.push_back(remark.text());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "PYTORCH_CUDA_ALLOC_CONFIG=expandable_segments:True had no effect on this run: torch reads no "
                       "variable of this name, but PYTORCH_ALLOC_CONF",
                       "max_split_size_mb:64 had no effect on this run: no cached block of that size could have served "
                       "another request"}));
}

/// One buffer after the other, each on the next of some streams.
void alternate(GpuTrace& trace, std::int64_t streams, std::int64_t reserved) {
  for (std::int64_t i = 0; i < 8; ++i) trace.drop(trace.at(20, i % streams, 256 * kMiB));
  trace.allocator_peaks(256 * kMiB, reserved);
}

TEST(FragmentedWithoutSegments, PoolsOfStreamsAreFound) {
  GpuTrace trace;
  alternate(trace, 8, 8 * 256 * kMiB);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "fragmented");
  EXPECT_EQ(finding.title, "fragmented");
  EXPECT_FALSE(finding.why.empty());
  EXPECT_FALSE(finding.fix.empty());
  EXPECT_EQ(finding.classes, (std::vector<std::string>{"D09"}));
  EXPECT_EQ(finding.confidence, Confidence::kUnknown);
  EXPECT_EQ(finding.bytes, Bytes(7 * 256 * kMiB));
  ASSERT_TRUE(finding.fragmentation);
  const Fragmentation& pools = *finding.fragmentation;
  EXPECT_EQ(pools.device, "cuda:0");
  EXPECT_EQ(pools.by_streams, Bytes(7 * 256 * kMiB));
  EXPECT_EQ(pools.blocks, 8);
  EXPECT_EQ(pools.blocks_without_stream, 0);
  ASSERT_EQ(pools.streams.size(), 8u);
  EXPECT_EQ(pools.streams[0].peak, Bytes(256 * kMiB));
  ASSERT_EQ(pools.sites.size(), 1u);
  EXPECT_EQ(pools.sites[0].site, "user/train.py:20 main");
  EXPECT_EQ(pools.sites[0].streams, 8);
  EXPECT_EQ(pools.sites[0].bytes, Bytes(8 * 256 * kMiB));
  EXPECT_NE(finding.why.find("a cached block serves the stream only"), std::string::npos) << finding.why;
  EXPECT_NE(finding.fix.find("fixed streams"), std::string::npos) << finding.fix;
}

TEST(FragmentedWithoutSegments, OneStreamThatReusesItsBlockIsFine) {
  GpuTrace trace;
  alternate(trace, 1, 256 * kMiB);
  EXPECT_TRUE(analyze(trace.load()).findings.empty());
}

TEST(FragmentedWithoutSegments, OfOneStreamItIsFragmentation) {
  GpuTrace trace;
  alternate(trace, 1, 8 * 256 * kMiB);
  const Analysis analysis = analyze(trace.load());
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.fragmentation->by_streams, Bytes(0));
  EXPECT_TRUE(finding.fragmentation->sites.empty());
  EXPECT_EQ(finding.why, "not known: the trace has no segments of the allocator");
  EXPECT_TRUE(finding.fix.ends_with("whether it helps is not known")) << finding.fix;
}

TEST(FragmentedWithoutSegments, ThePartsAddUp) {
  GpuTrace trace;
  trace.stream = std::nullopt;
  trace.allocate(10 * kMiB);  // from before the allocator was followed: the default stream's
  const auto kept = trace.at(5, 0, 90 * kMiB);
  trace.drop_in_use(trace.at(6, 0, 50 * kMiB));  // waits to the end, so it occupies its pool all the time
  trace.drop(trace.at(5, 1, 200 * kMiB));
  trace.drop(kept);
  trace.drop(trace.at(5, 2, 60 * kMiB));
  trace.allocator_peaks(350 * kMiB, 600 * kMiB);
  const Analysis analysis = analyze(trace.load());
  ASSERT_EQ(analysis.findings.size(), 2u);
  ASSERT_TRUE(analysis.findings[0].waits);
  const Fragmentation& pools = *analysis.findings[1].fragmentation;
  ASSERT_EQ(pools.streams.size(), 3u);
  EXPECT_EQ(pools.streams[0].peak, Bytes(200 * kMiB));
  EXPECT_EQ(pools.streams[1].peak, Bytes(150 * kMiB)) << "the default one's: 10, 90 and 50";
  EXPECT_EQ(pools.streams[2].peak, Bytes(60 * kMiB));
  EXPECT_EQ(pools.by_streams, Bytes(60 * kMiB)) << "410 of all pools, 350 at once";
  EXPECT_EQ(pools.blocks_without_stream, 1);
  ASSERT_EQ(pools.sites.size(), 1u) << "only line 5 allocates on several streams";
  EXPECT_EQ(pools.sites[0].bytes, Bytes(350 * kMiB));
}

TEST(FragmentedWithoutSegments, LittleIsNoFinding) {
  for (const auto& [active, reserved, found] : {std::tuple(100, 163, false),  // less than 64 MiB
                                                {100, 164, true},
                                                {400, 490, false},  // less than a fifth
                                                {400, 500, true}}) {
    GpuTrace trace;
    trace.at(5, 0, active * kMiB);
    trace.allocator_peaks(active * kMiB, reserved * kMiB);
    EXPECT_EQ(analyze(trace.load()).findings.size(), found ? 1u : 0u) << active << " of " << reserved;
  }
}

TEST(FragmentedWithoutSegments, WithoutActiveBytesNothingIsSaid) {
  GpuTrace trace;
  trace.stream = std::nullopt;
  trace.at(5, 0, 256 * kMiB);
  trace.allocator_peaks(std::nullopt, 2048 * kMiB);
  EXPECT_TRUE(analyze(trace.load()).findings.empty());
}

}  // namespace
}  // namespace dcmt::analyzer
