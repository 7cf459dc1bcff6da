#include "collector/scan/memory/process_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "trace/base/lines.h"
#include "trace/base/quantities.h"
#include "trace/base/read_file.h"

namespace dcmt::scan {
namespace {

constexpr std::size_t kShared = 16 * kMiB;

/// KiB that no other process has.
long unshared_kib(pid_t pid) {
  const std::string rollup = read_file("/proc/" + std::to_string(pid) + "/smaps_rollup").value_or("");
  long sum = 0;
  for (std::string_view rest = rollup; !rest.empty();) {
    const std::string line(next_line(rest));
    if (line.starts_with("Private_")) sum += std::stol(line.substr(line.find(':') + 1));
  }
  return sum;
}

class ForkedMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes_ =
        static_cast<std::byte*>(mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(bytes_, MAP_FAILED);
    memset(bytes_, 7, kShared);
    child_ = fork();
    if (child_ == 0) {
      for (;;) pause();
    }
  }
  void TearDown() override {
    if (child_ > 0) kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(bytes_, kShared);
  }

  std::byte* bytes_ = nullptr;
  pid_t child_ = 0;
};

TEST_F(ForkedMemory, AReadingMakesNoCopyOfWhatAChildSharesWithItsParent) {
  Expected<ProcessMemory> memory = ProcessMemory::open(child_);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  const long before = unshared_kib(child_), own_before = unshared_kib(getpid());
  static std::array<std::byte, kShared> copy;  // not from malloc, whose thresholds other tests depend on
  const auto address = reinterpret_cast<Address>(bytes_);
  const Piece pieces[] = {{address, std::span(copy).first(kShared / 2)},
                          {address + kShared / 2, std::span(copy).last(kShared / 2)}};
  EXPECT_EQ(memory->read(pieces), kShared);
  EXPECT_TRUE(std::ranges::all_of(copy, [](std::byte byte) { return byte == std::byte{7}; }));
  EXPECT_LT(unshared_kib(child_) - before, 1024);
  EXPECT_LT(unshared_kib(getpid()) - own_before, static_cast<long>(kShared / 1024) + 1024) << "the copy here";
  EXPECT_FALSE(memory->is_page_unshared(address));
  bytes_[0] = std::byte{8};  // the parent gets a copy; the child has the page for itself now
  EXPECT_TRUE(memory->is_page_unshared(address));
  EXPECT_FALSE(memory->is_page_unshared(address + kPageBytes));
}

TEST_F(ForkedMemory, AReadingStopsWhereNothingIsMapped) {
  Expected<ProcessMemory> memory = ProcessMemory::open(child_);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  std::array<std::byte, 16> copy{};
  const auto address = reinterpret_cast<Address>(bytes_);
  const Piece pieces[] = {{address, std::span(copy).first(8)}, {8, std::span(copy).last(8)}};
  EXPECT_EQ(memory->read(pieces), 8u);
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  EXPECT_EQ(memory->read(std::span(pieces).first(1)), 0u);
  EXPECT_NE(ProcessMemory::open(child_).error().message.find("does not exist"), std::string::npos);
  child_ = 0;
}

TEST(ProcessMemoryTest, OfAProcessThatHasEndedItSaysSo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const Expected<ProcessMemory> memory = ProcessMemory::open(child);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().message, "cannot inspect process " + std::to_string(child) + ": it has ended");
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const Expected<ProcessMemory> gone = ProcessMemory::open(child);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().message, "cannot inspect process " + std::to_string(child) + ": it does not exist");
}

}  // namespace
}  // namespace dcmt::scan
