#include "collector/recorder/target/borrow_thread.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "collector/recorder/target/entry_code.h"
#include "collector/recorder/target/inject.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

// Any system library that this program has not loaded.
constexpr char kLibrary[] = "libBrokenLocale.so.1";

TEST(CanBeBorrowed, WaitsThatBeginAgain) {
  // A condition variable, private and with real time; a lock; the same with a time limit.
  EXPECT_TRUE(can_be_borrowed("202 0x7f12d25e5ae0 0x189 0x0 0x0 0x0 0xffffffff 0x7f12cc5fedb0 0x7f13814a3f16", false));
  EXPECT_FALSE(
      can_be_borrowed("202 0x5629fb0f3540 0x80 0x2 0x0 0x7ffd698ca897 0x0 0x7f2def113e78 0x7f2ea891f829", true));
  EXPECT_FALSE(can_be_borrowed("202 0x7f12d25e5ae0 0x189 0x0 0x7ffd0000 0x0 0xffffffff 0x7f12cc5fedb0 0x7f13", false));
  EXPECT_TRUE(can_be_borrowed("202 0x7f12d25e5ae0 0x189 0x0 0x7ffd0000 0x0 0xffffffff 0x7f12cc5fedb0 0x7f13", true));
  // clock_nanosleep and poll; epoll_wait and read return EINTR to their program.
  EXPECT_TRUE(can_be_borrowed("230 0x1 0x1 0x7ffd0000 0x0 0x0 0x0 0x7ffd 0x7f13", true));
  EXPECT_TRUE(can_be_borrowed("7 0x7ffd0000 0x1 0xffffffff 0x0 0x0 0x0 0x7ffd 0x7f13", true));
  EXPECT_FALSE(can_be_borrowed("7 0x7ffd0000 0x1 0xffffffff 0x0 0x0 0x0 0x7ffd 0x7f13", false));
  EXPECT_FALSE(can_be_borrowed("232 0x3 0x7ffd0000 0x10 0xffffffff 0x0 0x8 0x7ffd 0x7f13", true));
  EXPECT_FALSE(can_be_borrowed("0 0x0 0x7ffd0000 0x10 0x0 0x0 0x0 0x7ffd 0x7f13", true));
  for (const char* line : {"running", "", "-1 0x7ffd 0x7f13", "202", "x"}) EXPECT_FALSE(can_be_borrowed(line, true));
}

/// Counters of the program below.
struct Counts {
  std::atomic<long> turns{0};   ///< of a thread that allocates all the time
  std::atomic<long> sleeps{0};  ///< that had the requested duration
  std::atomic<long> wrong{0};   ///< that had another duration, or another result
  std::atomic<double> sum{0};   ///< a sum in a vector register that grows by one each time
};

/// A program with a running thread, one that waits for ever, and a first one that sleeps repeatedly for a short time.
class Program {
 public:
  Program()
      : counts_(new (mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Counts),
        pid_(fork()) {
    if (pid_ == 0) run();
  }
  ~Program() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(counts_, sizeof(Counts));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const Counts& counts() const { return *counts_; }

  [[nodiscard]] std::string file(const char* name) const {
    return read_file("/proc/" + std::to_string(pid_) + "/" + name).value_or("");
  }
  [[nodiscard]] bool has_loaded() const { return file("maps").find(kLibrary) != std::string::npos; }

  /// True if all of its threads run or sleep untraced, and accept signals.
  [[nodiscard]] bool is_free() const {
    std::error_code error;
    const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    for (std::filesystem::directory_iterator at(tasks, error), end; !error && at != end; at.increment(error)) {
      std::istringstream text(read_file(at->path().string() + "/status").value_or(""));
      for (std::string line; std::getline(text, line);) {
        if (line.starts_with("TracerPid:") && line != "TracerPid:\t0") return false;
        if (line.starts_with("SigBlk:") && line.find_first_not_of("0", 8) != std::string::npos) return false;
        if (line.starts_with("State:") && line.find_first_of("tTZ", 7) == 7) return false;
      }
    }
    return true;
  }

  /// Waits until all of its threads have made progress, and it is free.
  [[nodiscard]] bool goes_on() const {
    const long turns = counts_->turns;
    const long sleeps = counts_->sleeps;
    for (int i = 0; i < 60'000; ++i) {
      if (counts_->turns > turns + 2 && counts_->sleeps > sleeps + 2 && is_free()) return counts_->wrong == 0;
      usleep(1000);
    }
    return false;
  }

 private:
  [[noreturn]] void run() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::thread([this] {
      for (;;) {
        std::vector<std::string> some(100, std::string(1000, 'x'));
        counts_->turns += 1;
      }
    }).detach();
    std::thread([] {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t never = PTHREAD_COND_INITIALIZER;
      pthread_mutex_lock(&mutex);
      for (;;) pthread_cond_wait(&never, &mutex);
    }).detach();
    for (double sum = 0;; sum += 1) {
      timespec until{};
      clock_gettime(CLOCK_MONOTONIC, &until);
      until.tv_nsec += 500'000;
      if (until.tv_nsec >= 1'000'000'000) {
        until.tv_nsec -= 1'000'000'000;
        until.tv_sec += 1;
      }
      const int how = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      const bool early = now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec);
      (how != 0 || early || sum != counts_->sum ? counts_->wrong : counts_->sleeps) += 1;
      counts_->sum = sum + 1;
    }
  }

  Counts* counts_;
  pid_t pid_;
};

/// A child that does the same as inject(), and ends.
pid_t begin_to_load(pid_t pid, pid_t thread, const EntryCode& code, const std::vector<scan::Region>& regions) {
  const pid_t child = fork();
  if (child == 0) {
    get_ready_to_borrow();
    const ThreadCall load{code.dlopen, kLibrary, 0, RTLD_NOW | RTLD_GLOBAL};
    _exit(static_cast<int>(call_by(pid, thread, code, load, regions)));
  }
  return child;
}

class BorrowThread : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(program_.goes_on());
    Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(program_.pid());
    ASSERT_TRUE(memory.ok()) << memory.error().message;
    const Expected<EntryCode> code = find_entry_code(*memory);
    ASSERT_TRUE(code.ok());
    code_ = *code;
    regions_ = memory->regions();
    ASSERT_FALSE(program_.has_loaded());
  }

  Program program_;
  EntryCode code_;
  std::vector<scan::Region> regions_;
};

TEST_F(BorrowThread, EachThreadThatIsAsleepLoadsAndComesBack) {
  for (const pid_t thread : threads_to_borrow(program_.pid())) {
    int status = 0;
    for (int i = 0; i < 200; ++i) {  // the thread with short sleeps may be awake
      waitpid(begin_to_load(program_.pid(), thread, code_, regions_), &status, 0);
      if (WEXITSTATUS(status) == static_cast<int>(Borrowed::kCalls)) break;
    }
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Borrowed::kCalls));
    EXPECT_TRUE(program_.goes_on());
    EXPECT_TRUE(program_.has_loaded());
  }
}

TEST_F(BorrowThread, AThreadThatWorksIsLeftAlone) {
  // The second thread that was created.
  int status = 0;
  for (pid_t thread = program_.pid() + 1; thread < program_.pid() + 50; ++thread) {
    const std::string line = program_.file(("task/" + std::to_string(thread) + "/syscall").c_str());
    if (!line.starts_with("running")) continue;
    waitpid(begin_to_load(program_.pid(), thread, code_, regions_), &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Borrowed::kNotNow));
    EXPECT_TRUE(program_.goes_on());
    EXPECT_FALSE(program_.has_loaded());
    return;
  }
  GTEST_SKIP() << "it was not seen at work";
}

TEST_F(BorrowThread, WhoeverIsKilledAtAnyPointHarmsNobody) {
  const char* asked = std::getenv("DCMT_INJECT_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 60;
  std::mt19937 random(1);
  int loaded = 0;
  int done = 0;
  // On machines of any speed, some kills must be early and some late.
  std::uint64_t longest_us = 1500;
  for (; done < kills || (done < 10 * kills && (loaded == 0 || loaded == done)); ++done) {
    if (done % 10 == 9 && loaded == 0) longest_us *= 2;
    if (done % 10 == 9 && loaded == done) longest_us = std::max<std::uint64_t>(1, longest_us / 2);
    Program program;
    ASSERT_TRUE(program.goes_on());
    // This process is the same program at the same addresses.
    const std::vector<pid_t> threads = threads_to_borrow(program.pid());
    ASSERT_FALSE(threads.empty());
    auto memory = scan::ProcessMemory::open(program.pid());
    ASSERT_TRUE(memory.ok());
    const pid_t child = begin_to_load(program.pid(), threads[0], code_, memory->regions());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(program.goes_on()) << "after kill " << done;
    loaded += program.has_loaded() ? 1 : 0;
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, done);
}

/// Measures how long a program's threads are stopped at most, from before to after. The figures are for a person.
TEST_F(BorrowThread, AThreadIsStoppedBriefly) {
  const char* asked = std::getenv("DCMT_INJECT_STOPS");
  const int wanted = asked != nullptr ? std::atoi(asked) : 20;
  using Clock = std::chrono::steady_clock;
  std::vector<double> stops;
  auto* took =
      static_cast<double*>(mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < wanted; ++i) {
    // The thread that was borrowed last may be on the way back to its wait.
    std::vector<pid_t> threads = threads_to_borrow(program_.pid());
    for (int pause = 0; threads.empty() && pause < 60'000; ++pause) {
      usleep(1000);
      threads = threads_to_borrow(program_.pid());
    }
    ASSERT_FALSE(threads.empty());
    const pid_t child = fork();
    if (child == 0) {
      get_ready_to_borrow();
      // A descriptor that is not open.
      const ThreadCall call{code_.close, "", ~std::uint64_t{0}, 0};
      const auto began = Clock::now();
      const Borrowed how = call_by(program_.pid(), threads[0], code_, call, regions_);
      *took = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
      _exit(static_cast<int>(how));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == static_cast<int>(Borrowed::kCalls)) stops.push_back(*took);
  }
  EXPECT_TRUE(program_.goes_on());
  ASSERT_FALSE(stops.empty());
  std::ranges::sort(stops);
  const auto of = [&](double share) {
    return stops[static_cast<std::size_t>(share * static_cast<double>(stops.size() - 1))];
  };
  std::printf("stopped %zu times: p50 %.2f ms, p99 %.2f ms, at most %.2f ms\n", stops.size(), of(0.5), of(0.99), of(1));
  munmap(took, sizeof(double));
}

/// The shared data of a program whose only thread is always running.
struct Work {
  std::atomic<long> turns{0};
  std::atomic<long> wrong{0};
  std::atomic<long> calls{0};
};

/// Replaces Python's loop: sums that are all in registers.
__attribute__((noinline, section("dcmt_test_loop"))) void add_up(Work& work) {
  double some = 0;
  double half = 0;
  long whole = 0;
  for (long i = 0; i < 20'000; ++i) {
    some += 1;
    half += 0.5;
    whole += i;
    asm volatile("" : "+x"(some), "+x"(half), "+r"(whole));
  }
  if (some != 20'000 || half != 10'000 || whole != 199'990'000) work.wrong += 1;
  work.turns += 1;
}
extern "C" char __start_dcmt_test_loop[], __stop_dcmt_test_loop[];

/// The function that the thread must call: it overwrites all that a call may overwrite.
void spoil(Work* work) {
  asm volatile(
      "pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1\n\tpcmpeqd %%xmm2, %%xmm2\n\tpcmpeqd %%xmm8, %%xmm8\n\t"
      "mov $-1, %%rcx\n\tmov $-1, %%rdx\n\tmov $-1, %%r8\n\tmov $-1, %%r11"
      :
      :
      : "xmm0", "xmm1", "xmm2", "xmm8", "rcx", "rdx", "r8", "r11", "cc", "memory");
  work->calls += 1;
}

TEST(BorrowThreadAtWork, IsBorrowedInItsLoopAloneAndGoesOnWithItsRegisters) {
  auto* work = new (mmap(nullptr, sizeof(Work), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Work;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      add_up(*work);
      std::vector<std::string> some(100, std::string(1000, 'x'));
    }
  }
  auto memory = scan::ProcessMemory::open(pid);
  ASSERT_TRUE(memory.ok());
  EntryCode code = *find_entry_code(*memory);
  EXPECT_TRUE(code.python_loop.empty()) << "a program without Python";
  code.python_loop = {reinterpret_cast<std::uint64_t>(__start_dcmt_test_loop),
                      reinterpret_cast<std::uint64_t>(__stop_dcmt_test_loop)};
  long called = 0;
  long refused = 0;
  for (int tries = 0; tries < 100'000 && (called < 100 || refused == 0); ++tries) {
    const pid_t child = fork();
    if (child == 0) {
      get_ready_to_borrow();
      const ThreadCall call{reinterpret_cast<std::uint64_t>(spoil), "", reinterpret_cast<std::uint64_t>(work), 0};
      _exit(static_cast<int>(call_by(pid, pid, code, call, memory->regions())));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != static_cast<int>(Borrowed::kCalls)) {
      ++refused;
      continue;
    }
    ++called;
    for (int pause = 0; work->calls < called && pause < 60'000; ++pause) usleep(1000);
    ASSERT_EQ(work->calls, called);
  }
  EXPECT_GE(called, 100);
  EXPECT_GT(refused, 0) << "it is not in its loop all the time";
  const long turns = work->turns;
  for (int pause = 0; work->turns < turns + 3 && pause < 60'000; ++pause) usleep(1000);
  EXPECT_GE(work->turns, turns + 3);
  EXPECT_EQ(work->wrong, 0);
  EXPECT_EQ(threads_at_work(pid), std::vector<pid_t>{pid});
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  munmap(work, sizeof(Work));
}

TEST_F(BorrowThread, WhatStandsInTheWayIsSaid) {
  TargetProcess target = *inspect_process(program_.pid());
  EXPECT_FALSE(injection_obstacle(target));
  target.tracer = getpid();
  const auto traced = injection_obstacle(target);
  ASSERT_TRUE(traced);
  EXPECT_NE(traced->what.find("is traced by process " + std::to_string(getpid())), std::string::npos);
}

}  // namespace
}  // namespace dcmt::recorder
