#include "collector/torch/state/fences.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <random>
#include <thread>
#include <vector>

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kRegion = 64 * kPage;

std::atomic<int> g_touches{0};
std::atomic<std::uint64_t> g_address{0};
std::atomic<bool> g_writes{false};
std::uint64_t g_end = 0;  ///< of the next block

void on_touch(const Fence&, std::uint64_t address, bool writes) noexcept {
  ++g_touches;
  g_address = address;
  g_writes = writes;
}

std::uint64_t end_of_next(const Fence&) noexcept { return g_end; }

class Fences : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler of its own
    ASSERT_TRUE(make_fences(on_touch));
    region_ = static_cast<char*>(mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::uint64_t i = 0; i < kRegion; ++i) region_[i] = byte(i);
    g_touches = 0;
  }
  void TearDown() override {
    leave_fences();
    EXPECT_EQ(fences(), 0u);
    munmap(region_, kRegion);
  }

  static char byte(std::uint64_t offset) { return static_cast<char>(offset * 31 + offset / kPage); }
  /// Where it faults is what the tests ask for, also at null.
  [[gnu::no_sanitize("null")]] static char load(const char* at) { return *const_cast<const volatile char*>(at); }
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(region_) + offset;
  }
  Fenced place(std::uint64_t from, std::uint64_t until) {
    g_end = address(until);
    return place_fence({address(from), 0, 0, 1, nullptr}, end_of_next);
  }

  char* region_ = nullptr;
};

TEST_F(Fences, CloseTheWholePagesOfABlockAndNoOtherByte) {
  std::mt19937 random(53);
  const auto below = [&random](std::uint64_t limit) { return std::uint64_t{random()} % limit; };
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t from = below(kRegion);
    const std::uint64_t until = from + 1 + below(kRegion - from);
    const Fenced fenced = place(from, until);
    std::uint64_t closed = 0;
    for (std::uint64_t page = 0; page < kRegion; page += kPage) {
      // Counted by the page, not by arithmetic as the code does.
      const bool whole = page >= from && page + kPage <= until;
      closed += whole ? kPage : 0;
      EXPECT_EQ(whole, address(page) >= fenced.pages.begin && address(page) < fenced.pages.end);
    }
    EXPECT_EQ(fenced.pages.end - fenced.pages.begin, closed);
    EXPECT_EQ(fenced.how, closed == 0 ? Fencing::kNoPage : Fencing::kDone);
    g_touches = 0;
    for (std::uint64_t i = 0; i < kRegion; i += i % kPage == 0 ? kPage - 1 : 1) {
      const bool is_closed = address(i) >= fenced.pages.begin && address(i) < fenced.pages.end;
      EXPECT_TRUE(is_closed || load(region_ + i) == byte(i));
    }
    EXPECT_EQ(g_touches, 0);
    if (closed != 0 && below(2) == 0) {
      const std::uint64_t offset = fenced.pages.begin - address(0) + below(closed);
      EXPECT_EQ(load(region_ + offset), byte(offset));
      EXPECT_EQ(g_touches, 1);
      EXPECT_EQ(g_address, address(offset));
      EXPECT_FALSE(g_writes);
    }
    const int before = g_touches;
    open_fence(address(from));
    EXPECT_EQ(fences(), 0u);
    for (std::uint64_t page = 0; page < kRegion; page += kPage) EXPECT_EQ(load(region_ + page), byte(page));
    EXPECT_EQ(g_touches, before);
  }
}

TEST_F(Fences, AWriteIsAWriteAndArrives) {
  place(0, kRegion);
  *const_cast<volatile char*>(region_ + 5 * kPage + 7) = 42;
  EXPECT_EQ(g_touches, 1);
  EXPECT_TRUE(g_writes);
  EXPECT_EQ(load(region_ + 5 * kPage + 7), 42);
}

TEST_F(Fences, ABlockHasOneFence) {
  EXPECT_EQ(place(0, kRegion).how, Fencing::kDone);
  const Fenced again = place(0, kRegion);
  EXPECT_EQ(again.how, Fencing::kThere);
  EXPECT_EQ(again.pages.end - again.pages.begin, kRegion);
  EXPECT_EQ(fences(), 1u);
}

TEST_F(Fences, ABlockThatHasEndedGetsNone) {
  g_end = 0;
  EXPECT_EQ(place_fence({address(0), 0, 0, 1, nullptr}, end_of_next).how, Fencing::kGone);
  EXPECT_EQ(fences(), 0u);
  load(region_);
  EXPECT_EQ(g_touches, 0);
}

TEST_F(Fences, OverwritingEndsBeforeTheBlockDoes) {
  for (int round = 0; round < 200; ++round) {
    g_end = address(kRegion);
    region_[kRegion - 1] = 0;
    std::barrier start(2);
    Fencing how = Fencing::kRefused;
    std::thread other([&] {
      start.arrive_and_wait();
      how = overwrite({address(0), 0, 0, 1, nullptr}, end_of_next, kRegion, 7);
    });
    start.arrive_and_wait();
    open_fence(address(0));
    // From here on the block could belong to somebody else, unless the other thread has not begun.
    other.join();
    EXPECT_EQ(how, Fencing::kDone);
    EXPECT_EQ(region_[kRegion - 1], 7);
    EXPECT_EQ(fences(), 0u);
  }
  g_end = 0;
  region_[0] = 1;
  EXPECT_EQ(overwrite({address(0), 0, 0, 1, nullptr}, end_of_next, kRegion, 7), Fencing::kGone);
  EXPECT_EQ(region_[0], 1);
}

TEST_F(Fences, MemoryThatTheKernelGetsIsTouched) {
  place(kPage, 2 * kPage);
  place(4 * kPage, 6 * kPage);
  place(8 * kPage, 9 * kPage);
  touch_fences(address(0), kPage, false);
  touch_fences(address(2 * kPage), 2 * kPage, false);
  EXPECT_EQ(g_touches, 0);
  touch_fences(address(5 * kPage) + 3, 3 * kPage - 3, true);
  EXPECT_EQ(g_touches, 1);
  EXPECT_EQ(g_address, address(5 * kPage) + 3);
  EXPECT_TRUE(g_writes);
  touch_fences(address(0), kRegion, false);
  EXPECT_EQ(g_touches, 3);
  EXPECT_EQ(load(region_ + 8 * kPage), byte(8 * kPage));
  EXPECT_EQ(g_touches, 3);
}

TEST_F(Fences, ManyAreOpenedTogether) {
  std::uint32_t placed = 0;
  for (std::uint64_t page = 0; page < kRegion; page += 2 * kPage, ++placed) {
    EXPECT_EQ(place(page, page + kPage).how, Fencing::kDone);
  }
  EXPECT_EQ(fences(), placed);
  leave_fences();
  EXPECT_EQ(fences(), 0u);
  for (std::uint64_t page = 0; page < kRegion; page += kPage) load(region_ + page);
  EXPECT_EQ(g_touches, 0);
  ASSERT_TRUE(make_fences(on_touch));
}

TEST_F(Fences, ManyThreadsAreOneTouch) {
  for (int round = 0; round < 50; ++round) {
    g_touches = 0;
    place(0, kRegion);
    std::barrier start(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        for (int page = 0; page < 16; ++page) {
          const std::uint64_t offset = (16 * static_cast<std::uint64_t>(i) + static_cast<std::uint64_t>(page)) * kPage;
          EXPECT_EQ(load(region_ + offset), byte(offset));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(g_touches, 1);
    open_fence(address(0));
  }
}

TEST_F(Fences, AThreadThatTouchesWhileTheBlockIsOpenedGoesOn) {
  for (int round = 0; round < 200; ++round) {
    place(0, kRegion);
    std::barrier start(2);
    std::thread other([&] {
      start.arrive_and_wait();
      for (std::uint64_t page = 0; page < kRegion; page += kPage) EXPECT_EQ(load(region_ + page), byte(page));
    });
    start.arrive_and_wait();
    open_fence(address(0));
    other.join();
    EXPECT_EQ(fences(), 0u);
  }
}

TEST_F(Fences, AForkedChildReadsWhatItInherits) {
  place(0, kRegion);
  const pid_t child = fork();
  if (child == 0) _exit(load(region_ + kPage) == byte(kPage) && g_touches == 1 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(g_touches, 0);
}

// What is no touch of a fence ends as it would without fences.
class FencesDeathTest : public Fences {};

TEST_F(FencesDeathTest, AnotherFaultKills) {
  place(0, kPage);
  EXPECT_EXIT(
      {
        mprotect(region_ + kPage, kPage, PROT_NONE);
        load(region_ + kPage);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(load(nullptr), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(raise(SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "");
}

void leave_with_seven(int) { _exit(7); }

TEST_F(FencesDeathTest, AHandlerThatCameLaterGetsTheOtherFaults) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, leave_with_seven);
        place(0, kPage);
        if (load(region_) != byte(0) || g_touches != 1) _exit(1);
        load(nullptr);
      },
      ::testing::ExitedWithCode(7), "");
}

struct sigaction g_replaced;

/// As Python's faulthandler does.
void restore_and_raise(int number) {
  sigaction(SIGSEGV, &g_replaced, nullptr);
  raise(number);
}

TEST_F(FencesDeathTest, AHandlerThatPassesOnToOursEnds) {
  EXPECT_EXIT(
      {
        struct sigaction theirs = {};
        theirs.sa_handler = restore_and_raise;
        theirs.sa_flags = SA_NODEFER;
        sigaction(SIGSEGV, &theirs, &g_replaced);
        place(0, kPage);
        load(nullptr);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace dcmt::torch_provider
