#include "collector/recorder/process/gpu_samples.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "collector/recorder/process/own_clock.h"
#include "collector/recorder/testing/assembler_fixture.h"
#include "collector/recorder/testing/fake_nvml.h"
#include "collector/recorder/testing/trace_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;

constexpr const char* kSamples = "SELECT gpu, used, total, process, reserved, device FROM gpu_memory ORDER BY id";

class GpuSamplesTest : public testing::TraceFixture {
 protected:
  GpuSamplesTest() { gpus_[3] = {FakeNvml::kUuid, 1 << 20, now_ns()}; }

  /// Polls until a row is written, for at most 10 seconds.
  bool writes_a_row(GpuSamples& samples) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      const Expected<bool> wrote = samples.poll(gpus_);
      if (!wrote.ok()) ADD_FAILURE() << wrote.error().message;
      if (!wrote.ok() || *wrote) return wrote.ok();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  /// Polls for as long as four readings last at most.
  void poll_for_a_while(GpuSamples& samples) {
    for (int i = 0; i < 450; ++i) {
      EXPECT_TRUE(samples.poll(gpus_).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  FakeNvml fake_;
  Gpus gpus_;
};

TEST_F(GpuSamplesTest, ASampleHasWhatIsUsedAndWhatTorchHasReserved) {
  fake_.set(5 << 20, 64 << 20);
  GpuSamples samples(*writer_, 1, DCMT_FAKE_NVML);
  ASSERT_TRUE(writes_a_row(samples));
  EXPECT_EQ(rows(writer_->database(), kSamples), Rows{row(3, 5 << 20, 64 << 20, "-", 1 << 20, "cuda:3")});
}

TEST_F(GpuSamplesTest, WhatTheAllocatorReservesDuringAReadingLeavesItOut) {
  fake_.set(5 << 20, 64 << 20);
  GpuSamples samples(*writer_, 1, DCMT_FAKE_NVML);
  gpus_[3].changed_ns = now_ns() + 3'600'000'000'000;
  poll_for_a_while(samples);
  EXPECT_EQ(rows(writer_->database(), kSamples), Rows{});
  gpus_[3].changed_ns = now_ns();
  EXPECT_TRUE(writes_a_row(samples)) << "the next reading is clear";
}

TEST_F(GpuSamplesTest, AGpuWithoutAUuidIsNotRead) {
  GpuSamples samples(*writer_, 1, DCMT_FAKE_NVML);
  gpus_[3].uuid.clear();
  poll_for_a_while(samples);
  EXPECT_EQ(fake_.began(), 0);
  EXPECT_EQ(rows(writer_->database(), kSamples), Rows{});
}

TEST_F(GpuSamplesTest, WithoutTheLibraryTheTraceSaysWhy) {
  GpuSamples samples(*writer_, 1, "libno-such-library.so.1");
  poll_for_a_while(samples);
  EXPECT_EQ(rows(writer_->database(), "SELECT value FROM meta WHERE key = 'gpu_memory_unknown'"),
            Rows{"there is no libno-such-library.so.1"});
}

}  // namespace
}  // namespace dcmt::recorder
