#include "collector/recorder/assemble/gpu_work_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::GpuWorkItem;
using wire::GpuWorkKind;

constexpr std::uint64_t kSide = 0x5000;
constexpr const char* kWork =
    "SELECT to_ns - from_ns, gpu, stream, kind, s.text, bytes, graph FROM gpu_work w "
    "LEFT JOIN string s ON s.id = w.name ORDER BY from_ns";

GpuWorkItem item(std::uint64_t start, std::uint64_t end, std::uint32_t call, std::uint32_t stream, GpuWorkKind kind) {
  GpuWorkItem item{};
  item.start = start;
  item.end = end;
  item.call = call;
  item.stream = stream;
  item.kind = kind;
  return item;
}

class GpuWorkBookTest : public testing::AssemblerFixture {};

TEST_F(GpuWorkBookTest, WorkHasTheStreamOfItsCallOrOfEarlierWork) {
  TestStream s;
  s.gpu_launch(1, kSide);
  s.gpu_launch(2, 0);
  GpuWorkItem kernel = item(100, 150, 1, 7, GpuWorkKind::kKernel);
  kernel.name = s.text("_Z5scalePf");
  GpuWorkItem copy = item(200, 230, 2, 9, GpuWorkKind::kCopyToGpu);
  copy.bytes = 64;
  const GpuWorkItem later = item(300, 301, 77, 7, GpuWorkKind::kFill);
  const GpuWorkItem unknown = item(400, 402, 78, 8, GpuWorkKind::kKernel);
  s.gpu_work(1000, {kernel, copy, later, unknown});
  Database db = record(s);
  EXPECT_EQ(rows(db, kWork),
            (Rows{row(50, 0, 1, "kernel", "scale(float*)", "-", 0), row(30, 0, 0, "copy to GPU", "-", 64, 0),
                  row(1, 0, 1, "fill", "-", "-", 0), row(2, 0, "-", "kernel", "-", "-", 0)}));
}

TEST_F(GpuWorkBookTest, TimesAreThoseOfTheRecordsClock) {
  TestStream s;
  s.gpu_launch(1, kSide);
  s.gpu_work(1000, {item(400, 500, 1, 7, GpuWorkKind::kKernel)});
  s.gpu_work(2000, {item(400, 500, 1, 7, GpuWorkKind::kKernel)});
  Database db = record(s);
  // The second record came later, and says that the work was longer ago by what CUPTI's clock went on.
  const Rows from = rows(db, "SELECT max(from_ns) - min(from_ns) < 1000 FROM gpu_work");
  EXPECT_EQ(from, Rows{row(1)});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM gpu_work WHERE from_ns < 0"), Rows{row(0)});
}

TEST_F(GpuWorkBookTest, KernelsOfAGraphHaveTheStreamThatItWasLaunchedOn) {
  TestStream s;
  s.gpu_launch(5, kSide);
  GpuWorkItem first = item(100, 150, 5, 30, GpuWorkKind::kKernel), second = item(110, 160, 5, 31, GpuWorkKind::kKernel);
  first.graph = second.graph = 2;
  s.gpu_work(1000, {first, second});
  s.gpu_work(1100, {item(1000, 1001, 99, 30, GpuWorkKind::kFill)});
  Database db = record(s);
  EXPECT_EQ(rows(db, kWork), (Rows{row(50, 0, 1, "kernel", "-", "-", 1), row(50, 0, 1, "kernel", "-", "-", 1),
                                   row(1, 0, "-", "fill", "-", "-", 0)}))
      << "a stream inside of the graph is another one";
}

TEST_F(GpuWorkBookTest, DroppedWorkIsANoteAndAnUnknownKindABadRecord) {
  TestStream s;
  s.gpu_work(10, {}, 12);
  s.gpu_work(10, {item(1, 2, 1, 1, static_cast<GpuWorkKind>(7))});
  s.gpu_work(10, {item(2, 1, 1, 1, GpuWorkKind::kKernel)});
  Database db = record(s);
  EXPECT_EQ(rows(db, kWork), Rows{});
  EXPECT_EQ(
      rows(db, "SELECT count(*) FROM diagnostic d JOIN string s ON s.id = d.text WHERE s.text LIKE '%dropped 12 %'"),
      Rows{row(1)});
}

}  // namespace
}  // namespace dcmt::recorder
