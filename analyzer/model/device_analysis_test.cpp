#include "analyzer/model/device_analysis.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dcmt::analyzer
