#include "collector/recorder/assemble/gpu_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::rows;
using testing::Rows;
using testing::TestStream;

class GpuBookTest : public testing::AssemblerFixture {};

TEST_F(GpuBookTest, HasTheGpusUuidAndWhatIsReservedNow) {
  TestStream s;
  s.reserved(3000, false);
  s.gpu({0, 1, 2, 255, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  s.reserved(1000, false);
  s.reserved(500, false, wire::cuda_device(1));
  Recording recording = start();
  recording.apply(s);
  const Gpus& gpus = recording.assembler->gpus();
  ASSERT_EQ(gpus.size(), 2);
  EXPECT_EQ(gpus.at(0).uuid, "GPU-000102ff-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(gpus.at(0).reserved, 1000);
  EXPECT_GT(gpus.at(1).changed_ns, gpus.at(0).changed_ns);
  EXPECT_EQ(gpus.at(1).uuid, "");
  check(recording.assembler->finish());
}

TEST_F(GpuBookTest, ADeviceThatIsNoGpuIsABadRecord) {
  TestStream s;
  s.gpu({1}, wire::kCpuDevice);
  Recording recording = start();
  recording.apply(s);
  EXPECT_TRUE(recording.assembler->gpus().empty());
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), Rows{"1"});
}

}  // namespace
}  // namespace dcmt::recorder
