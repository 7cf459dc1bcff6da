#include "analyzer/model/device_analysis.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Gathers and releases a parameter; the release leaves its bytes, which go at `drop`.
TestTrace::Handle residual(TestTrace& trace, std::int64_t key, std::int64_t bytes) {
  TestTrace::Handle handle = 0;
  trace.op("zero3::allgather_param", [&] {
    handle = trace.allocate(bytes);
    trace.gather(key, handle);
  });
  trace.release(key, handle);
  trace.op("aten::mm");
  return handle;
}

std::vector<std::string> names_of(const Analysis& analysis) {
  std::vector<std::string> names;
  for (const DeviceAnalysis& device : analysis.devices) names.emplace_back(analysis.data->text(device.device));
  return names;
}

/// 40 bytes are dead on cuda:0, while the CPU has the higher peak: an optimizer whose state lies there.
TEST(DeviceAnalysisTest, GpusComeBeforeTheCpuWhateverTheirPeaks) {
  TestTrace trace;
  trace.allocate(80);
  trace.gpu = 0;
  for (std::int64_t key = 0; key < 4; ++key) residual(trace, key, 10);
  trace.gpu = 1;
  trace.allocate(60);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_EQ(names_of(analysis), (std::vector<std::string>{"cuda:1", "cuda:0", "cpu"}));
  const WhatIf& gpu = analysis.devices[1].what_if;
  EXPECT_EQ(gpu.measured.bytes, Bytes(40));
  EXPECT_EQ(gpu.dead_at_peak, Bytes(30)) << "the last release comes after the peak";
  EXPECT_EQ(gpu.predicted.bytes, Bytes(10));
  EXPECT_EQ(analysis.devices[2].what_if.measured.bytes, Bytes(80));
  EXPECT_EQ(analysis.devices[2].what_if.predicted.bytes, Bytes(80));
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(data.text(finding.device), "cuda:0");
  EXPECT_EQ(finding.dead_at_peak, Bytes(30)) << "at the peak of its own device";
  EXPECT_EQ(finding.predicted_peak, Bytes(10));
}

TEST(DeviceAnalysisTest, AlikeReleasesOnTwoDevicesAreTwoFindings) {
  TestTrace trace;
  residual(trace, 0, 500);
  trace.gpu = 0;
  residual(trace, 1, 20);
  trace.allocate(1);
  trace.gpu.reset();
  trace.allocate(1);
  trace.step(1);
  const TraceData data = trace.load();
  Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 2u);
  EXPECT_EQ(data.text(analysis.findings[0].device), "cuda:0") << "the GPU's first, though it is smaller";
  EXPECT_EQ(analysis.findings[0].dead_at_peak, Bytes(20));
  EXPECT_EQ(analysis.findings[1].dead_at_peak, Bytes(500));

  ASSERT_TRUE(keep_device(analysis, "t.dcmt", "cpu").ok());
  EXPECT_EQ(names_of(analysis), std::vector<std::string>{"cpu"});
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].number, 2) << "the number it has in the whole report";
}

TEST(DeviceAnalysisTest, ADeviceIsKeptByItsNameOrItsKind) {
  TestTrace trace;
  trace.allocate(80);
  trace.gpu = 0;
  trace.allocate(10);
  trace.gpu = 1;
  trace.allocate(20);
  const TraceData data = trace.load();
  for (const auto& [name, kept] :
       {std::pair("cuda", "cuda:1"), std::pair("cuda:0", "cuda:0"), std::pair("cpu", "cpu")}) {
    Analysis analysis = analyze(data);
    ASSERT_TRUE(keep_device(analysis, "t.dcmt", name).ok());
    EXPECT_EQ(names_of(analysis), std::vector<std::string>{kept});
  }
  Analysis analysis = analyze(data);
  const Status unknown = keep_device(analysis, "t.dcmt", "cuda:2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_EQ(unknown.error().message,
            "t.dcmt: nothing was allocated on 'cuda:2'. Devices of this trace: cuda:1, cuda:0, cpu.");
  EXPECT_EQ(analysis.devices.size(), 3u) << "nothing was dropped";
}

/// Two parameters are tied: their releases, by two operators, each leave the one storage.
TEST(DeviceAnalysisTest, BytesThatTwoFindingsKeepAreFreedByBothOnly) {
  TestTrace trace;
  residual(trace, 0, 100);
  TestTrace::Handle tied = 0;
  trace.op("zero3::allgather_param", [&] {
    tied = trace.allocate(1000);
    trace.gather(1, tied);
    trace.gather(2, tied);
  });
  trace.release(1, tied);
  trace.op("aten::mm");
  trace.release(2, tied, {.op = "other::release"});
  trace.op("aten::mm");
  trace.allocate(7);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  const DeviceAnalysis& cpu = analysis.main();
  ASSERT_EQ(analysis.findings.size(), 2u);
  EXPECT_EQ(cpu.what_if.measured.bytes, Bytes(1107));
  EXPECT_EQ(cpu.what_if.dead_at_peak, Bytes(1100));
  EXPECT_EQ(cpu.what_if.predicted.bytes, Bytes(1000)) << "both: the tied storage is the peak while it is used";
  const Finding& first = analysis.findings[0];
  const Finding& second = analysis.findings[1];
  EXPECT_EQ(first.dead_at_peak, Bytes(1100));
  EXPECT_EQ(second.dead_at_peak, Bytes(1000));
  EXPECT_EQ(first.predicted_peak, Bytes(1007)) << "only the storage of its own goes";
  EXPECT_EQ(second.predicted_peak, Bytes(1107)) << "alone it frees nothing";
  ASSERT_EQ(cpu.shared.size(), 1u);
  EXPECT_EQ(cpu.shared[0].findings, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(cpu.shared[0].at_peak, Bytes(1000));
}

TEST(DeviceAnalysisTest, OfATraceWithoutBlocksThereIsOneDeviceWithoutAName) {
  TestTrace trace;
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.devices.size(), 1u);
  EXPECT_FALSE(analysis.main().device.valid());
  EXPECT_FALSE(analysis.main().what_if.measured.seq.valid());
}

/// A program of random events: storages of three places, some kept by containers, some gathered and released, on two
/// devices, with steps, backward passes and readings.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  TraceData trace() {
    const int turns = 6 + below(20);
    const std::array kept = {below(4), below(4), below(4)};  // of four storages of a place
    for (int turn = 0; turn < turns; ++turn) {
      for (int i = below(12); i > 0; --i) event(kept);
      if (below(3) == 0) trace_.phase("backward", [&] { event(kept); });
      if (below(2) == 0) trace_.step(turn);
      if (below(4) == 0) trace_.begin_reading();
    }
    return trace_.load();
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  void event(const std::array<int, 3>& kept) {
    const int place = below(3);
    trace_.gpu = place == 2 ? std::optional<std::int64_t>(0) : std::nullopt;
    trace_.stack = {{"train.py", "main", place + 1}};
    if (below(9) == 0) {
      live_.push_back(residual(trace_, below(3), 10 + below(500)));
      return;
    }
    const TestTrace::Handle made = trace_.allocate(below(20) == 0 ? 0 : 1 + below(500));
    if (below(3) == 0) hold(made, place);
    if (below(4) >= kept[static_cast<std::size_t>(place)]) live_.push_back(made);
    while (!live_.empty() && below(3) != 0) {
      const auto at = live_.begin() + below(static_cast<int>(live_.size()));
      below(8) == 0 ? trace_.resize_to_zero(*at) : trace_.drop(*at);
      live_.erase(at);
    }
  }

  void hold(TestTrace::Handle made, int place) {
    static constexpr std::array kPaths = {"main: a.b.b.c", "cycle A.x → A (Python's collector is off)", "main: x",
                                          "cycle L → frame: kept → list[0] → L (Python's collector can free it)"};
    testing::HeldOf of;
    if (below(2) == 0) of.containers.push_back("main: kept");
    if (below(4) == 0) of.containers.push_back("main: other" + std::to_string(place));
    of.path = kPaths[static_cast<std::size_t>(below(4))];
    of.otherwise = below(2) == 0;
    of.confirmed = below(4) != 0;
    of.small = below(2) * below(100'000);
    trace_.held(made, of);
  }

  std::mt19937 random_;
  TestTrace trace_;
  std::vector<TestTrace::Handle> live_;
};

TEST(DeviceAnalysisTest, OfAnyTraceWhatIsNeededAndWhatIsDeadAreThePeak) {
  std::size_t findings = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const TraceData data = RandomProgram(seed).trace();
    const Analysis analysis = analyze(data);
    for (const DeviceAnalysis& device : analysis.devices) {
      const WhatIf& of = device.what_if;
      EXPECT_GE(of.dead_at_peak, Bytes(0)) << seed;
      EXPECT_GE(of.needed_at_peak, Bytes(0)) << seed;
      EXPECT_EQ(of.dead_at_peak.value + of.needed_at_peak.value, of.measured.bytes.value) << seed;
      EXPECT_LE(of.predicted.bytes, of.measured.bytes) << seed;
      EXPECT_GE(of.predicted.bytes, of.needed_at_peak) << seed << ": the moment of the peak comes in any case";
      for (const Finding& finding : analysis.findings) {
        if (finding.device != device.device) continue;
        ++findings;
        EXPECT_GE(finding.dead_at_peak, Bytes(0)) << seed;
        EXPECT_LE(finding.dead_at_peak, of.dead_at_peak) << seed;
        EXPECT_LE(finding.predicted_peak.value_or(Bytes(0)), of.measured.bytes) << seed;
      }
    }
  }
  EXPECT_GT(findings, 20u) << "the traces show nothing";
}

}  // namespace
}  // namespace dcmt::analyzer
