#include "collector/recorder/target/gpu_memory.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/fake_nvml.h"

namespace dcmt::recorder {
namespace {

TEST(GpuMemory, UseIsWithoutWhatTheDriverKeepsForItself) {
  FakeNvml fake;
  fake.set(3'000'000'000, 80'000'000'000);
  const Expected<GpuMemory> memory = GpuMemory::open(DCMT_FAKE_NVML);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  const Expected<GpuUse> use = memory->use_of(FakeNvml::kUuid, 1);
  ASSERT_TRUE(use.ok()) << use.error().message;
  EXPECT_EQ(use->used, 3'000'000'000);
  EXPECT_EQ(use->total, 80'000'000'000);
  EXPECT_FALSE(use->process);  // the driver's process is another one
}

TEST(GpuMemory, AGpuThatTheDriverCannotCountIsAnError) {
  FakeNvml fake;
  fake.set(1, 2);
  const Expected<GpuMemory> memory = GpuMemory::open(DCMT_FAKE_NVML);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(memory->use_of("GPU-another", 1).error().message.find("GPU-another"), std::string::npos);
  fake.set(1, 2, 0, true);
  EXPECT_EQ(memory->use_of(FakeNvml::kUuid, 1).error().code, ErrorCode::kIo);
  fake.set(1, 2, 1);
  EXPECT_NE(memory->use_of(FakeNvml::kUuid, 1).error().message.find("MIG"), std::string::npos);
}

TEST(GpuMemory, ALibraryThatIsMissingOrAnotherOneIsAnError) {
  EXPECT_FALSE(GpuMemory::open("libno-such-library.so.1").ok());
  EXPECT_FALSE(GpuMemory::open("libc.so.6").ok());
}

TEST(GpuMemory, TheLibraryIsEndedWithItsLastUser) {
  FakeNvml fake;
  {
    const Expected<GpuMemory> memory = GpuMemory::open(DCMT_FAKE_NVML);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(fake.began(), 1);
  }
  EXPECT_EQ(fake.began(), 0);
}

}  // namespace
}  // namespace dcmt::recorder
