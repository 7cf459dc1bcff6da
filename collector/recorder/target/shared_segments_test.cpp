#include "collector/recorder/target/shared_segments.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collector/agent/clock.h"
#include "collector/recorder/target/process_table.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kSize = std::size_t{3} << 20;

/// A file in /dev/shm with all its pages.
class ShmFile {
 public:
  explicit ShmFile(std::string name) : path_("/dev/shm/" + std::move(name)) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    made_ = fd_ >= 0 && posix_fallocate(fd_, 0, kSize) == 0;
  }
  ~ShmFile() {
    leave();
    unlink(path_.c_str());
  }
  ShmFile(const ShmFile&) = delete;
  ShmFile& operator=(const ShmFile&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  void leave() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  std::string path_;
  int fd_ = -1;
  bool made_ = false;
};

std::int64_t bytes_of_kind(const std::vector<SharedSegments>& segments, SegmentKind kind, std::string_view name) {
  for (const SharedSegments& each : segments) {
    if (each.kind == kind && each.name.find(name) != std::string::npos) return each.bytes;
  }
  return 0;
}

std::int64_t real_ns() { return static_cast<std::int64_t>(agent::nanoseconds(CLOCK_REALTIME)); }

TEST(SharedSegments, LinesOfMapsSayWhichMappingsAreShared) {
  const auto mappings = shared_mappings(
      "7f0000000000-7f0000100000 rw-s 00000000 00:1a 77                         /dev/shm/torch_12_3_0 (deleted)\n"
      "7f0000100000-7f0000200000 rw-p 00000000 00:1a 78                         /dev/shm/private\n"
      "7f0000200000-7f0000300000 rw-p 00000000 00:00 0 \n"
      "7f0000300000-7f0000400000 r-xp 00000000 08:01 9                          /usr/lib/libc.so.6\n"
      "7f0000400000-7f0000500000 rw-s 00000000 00:01 2049                       /dev/zero (deleted)\n");
  ASSERT_EQ(mappings.size(), 2U);
  EXPECT_EQ(mappings[0].inode, 77U);
  EXPECT_EQ(mappings[0].end - mappings[0].begin, 1U << 20);
  EXPECT_EQ(mappings[0].path, "/dev/shm/torch_12_3_0 (deleted)");
  EXPECT_EQ(mappings[1].inode, 2049U);
}

TEST(SharedSegments, OpenMappedAndLeftFilesCountOnceAndInFull) {
  const std::int64_t begin = real_ns() - 1'000'000'000;
  const std::string own = std::to_string(getpid());
  ShmFile left("dcmt-test-left-" + own), tensors("torch_" + own + "_1_0"), deleted("dcmt-test-deleted-" + own);
  if (!left.made() || !tensors.made() || !deleted.made()) GTEST_SKIP() << "no files can be made in /dev/shm";
  left.leave();
  unlink(deleted.path().c_str());
  void* const mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, deleted.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto segments = shared_segments({getpid()}, {}, begin);
  EXPECT_EQ(bytes_of_kind(segments, SegmentKind::kLeft, "dcmt-test-left"), static_cast<std::int64_t>(kSize));
  EXPECT_EQ(bytes_of_kind(segments, SegmentKind::kTensors, "torch_"), static_cast<std::int64_t>(kSize));
  EXPECT_EQ(bytes_of_kind(segments, SegmentKind::kOther, "dcmt-test-deleted"), static_cast<std::int64_t>(kSize));
  // What was there before is not the job's.
  const auto later = shared_segments({getpid()}, {}, real_ns() + 1'000'000'000);
  EXPECT_EQ(bytes_of_kind(later, SegmentKind::kLeft, "dcmt-test-left"), 0);
  munmap(mapped, kSize);
}

TEST(SharedSegments, OfAMappingWithoutAFileTheUsedPagesCount) {
  char* const memory =
      static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kSize / 3);
  std::int64_t bytes = 0;
  for (const SharedSegments& each : shared_segments({getpid()}, {}, real_ns())) {
    if (each.kind == SegmentKind::kOther && each.name.find("/dev/zero") != std::string::npos) bytes = each.bytes;
  }
  EXPECT_GE(bytes, static_cast<std::int64_t>(kSize / 3));
  EXPECT_LT(bytes, static_cast<std::int64_t>(kSize));
  munmap(memory, kSize);
}

}  // namespace
}  // namespace dcmt::recorder
