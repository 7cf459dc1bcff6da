// Ways to live and die, one a word: `life CASE [ARGUMENT]`. What a case prints and how it ends does not depend on
// timing, so a run under the recorder can be compared with a plain one.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collector/include/dcmt/marks.h"
#include "tensors.h"

namespace {

constexpr char kSelf[] = "/proc/self/exe";

void one_tensor() { make_tensors(1); }
void one_block() { make_blocks(1); }

/// Threads that do something until they are stopped.
class Busy {
 public:
  explicit Busy(int count, void (*work)() = one_tensor) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, work] {
        work();
        ++begun_;
        while (!stop_) work();
      });
    }
    // A thread's first operator acquires a lock of torch's, which a fork at that time would leave locked in the child
    // of a program that runs alone.
    make_tensors(1);
    while (begun_ < count) usleep(100);
  }
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> begun_{0};
  std::vector<std::thread> threads_;
};

/// Waits for one child: its exit code, or 128 + signal.
int outcome(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

[[noreturn]] void child_that_makes(int tensors) { _exit(make_tensors(tensors) == tensors ? 0 : 1); }

// ---- children

/// Forked children that go on making tensors, while other threads record.
int fork_and_go_on(const char* count) {
  const int children = atoi(count);
  Busy busy(3);
  int good = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t pid = fork();
    if (pid == 0) child_that_makes(5);
    good += outcome(pid) == 0 ? 1 : 0;
  }
  printf("%d of %d children made their tensors\n", good, children);
  return 0;
}

/// As above, while another thread gathers and releases parameters that stay alive: reads of released storages are
/// watched for in turns, which torch does under a lock.
int fork_between_releases(const char* count) {
  const dcmt_marks* const marks = dcmt_get_marks_table();
  std::atomic<bool> stop{false};
  std::thread releases([&] {
    make_tensors(1);
    while (!stop) {
      const HeldTensor parameter;
      if (marks == nullptr) continue;
      marks->gather(0, 1, parameter.address(), nullptr);
      marks->release_begin(0, 1, 1);
      marks->release_end(0, 1);
      make_tensors(2);
    }
  });
  const int result = fork_and_go_on(count);
  stop = true;
  releases.join();
  return result;
}

/// Children that execute this program: by fork, vfork and posix_spawn.
int fork_and_execute(const char*) {
  Busy busy(2);
  char name[] = "life";
  char word[] = "make";
  char number[] = "7";
  char* arguments[] = {name, word, number, nullptr};
  for (const bool shares_memory : {false, true}) {
    // What vfork() is: glibc's own would make compilers warn of locals.
    const pid_t pid = shares_memory ? vfork() : fork();
    if (pid == 0) {
      execv(kSelf, arguments);
      _exit(99);
    }
    printf("%s: %d\n", shares_memory ? "vfork" : "fork", outcome(pid));
  }
  pid_t pid = 0;
  if (posix_spawn(&pid, kSelf, nullptr, nullptr, arguments, environ) != 0) return 1;
  printf("posix_spawn: %d\n", outcome(pid));
  return 0;
}

/// A copy of this process that is made without the C library.
int raw_clone(const char*) {
  make_tensors(1);
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (pid == 0) child_that_makes(5);
  printf("clone: %d\n", outcome(pid));
  return 0;
}

volatile sig_atomic_t g_is_child = 0;
volatile sig_atomic_t g_forked = 0;

/// A handler that forks in the middle of anything; the child goes on from there.
int fork_in_handler(const char* count) {
  struct sigaction action {};
  action.sa_handler = [](int) {
    if (g_is_child != 0) return;
    const pid_t child = fork();
    if (child == 0) g_is_child = 1;
    if (child > 0) g_forked = g_forked + 1;
  };
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 1777}, {0, 1777}};
  setitimer(ITIMER_REAL, &often, nullptr);
  const int wanted = atoi(count);
  while (g_forked < wanted) {
    make_tensors(1);
    if (g_is_child != 0) child_that_makes(1);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  if (g_is_child != 0) child_that_makes(1);
  int all = 0;
  int bad = 0;
  for (int status = 0;;) {
    const pid_t child = wait(&status);
    if (child < 0 && errno == EINTR) continue;
    if (child < 0) break;
    ++all;
    if (status != 0) bad = status;
  }
  if (bad == 0 && all == g_forked) {
    printf("all children went on\n");
  } else {
    printf("%d of %d children ended, one with status %#x\n", all, g_forked, bad);
  }
  return 0;
}

// ---- threads

/// Waits until the recorder, if there is one, has read all records from before.
void wait_for_recorder() {
  constexpr std::uint64_t kMostNs = 60'000'000'000;
  dcmt_cpu_memory memory{};
  if (const dcmt_marks* const marks = dcmt_get_marks_table()) marks->cpu_memory(&memory, kMostNs, 0);
}

/// Threads by the thousand; each leaves one tensor to a thread-local destructor and one to a key's destructor. A thread
/// that ends leaves its chunk of the spool to the recorder, which is waited for before there are too many of them.
int many_threads(const char* count) {
  static thread_local HeldTensor* first = nullptr;
  struct Late {
    int tensors = 0;
    ~Late() { make_tensors(tensors); }
  };
  pthread_key_t key = 0;
  pthread_key_create(&key, [](void* tensor) { delete static_cast<HeldTensor*>(tensor); });
  const int threads = atoi(count);
  for (int made = 0; made < threads; made += 8) {
    std::vector<std::thread> wave;
    for (int i = 0; i < 8; ++i) {
      wave.emplace_back([key] {
        static thread_local Late late;
        late.tensors = 1;
        first = new HeldTensor;
        pthread_setspecific(key, new HeldTensor);
        delete first;
      });
    }
    for (std::thread& thread : wave) thread.join();
    if (made % 128 == 0) wait_for_recorder();
  }
  printf("%d threads\n", threads);
  return 0;
}

/// Threads that are cancelled where they may be.
int cancelled_threads(const char* count) {
  const int threads = atoi(count);
  int cancelled = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          const HeldTensor held;  // dropped by the unwinding
          for (;;) {
            make_tensors(1);
            pthread_testcancel();
          }
        },
        nullptr);
    usleep(static_cast<useconds_t>(500 * (i % 5)));
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED ? 1 : 0;
  }
  printf("%d of %d cancelled\n", cancelled, threads);
  return 0;
}

/// The first thread ends by itself; another one ends the process later.
int main_thread_ends(const char*) {
  make_tensors(3);
  std::thread([] {
    usleep(50'000);
    make_tensors(5);
    puts("the other thread returned last");
    exit(4);
  }).detach();
  pthread_exit(nullptr);
}

// ---- ends

int leave(const char* how) {
  static const HeldTensor until_exit;
  // To the very end; blocks only, since torch destroys its dispatcher earlier.
  static_cast<void>(new Busy(3, one_block));
  make_tensors(3);
  const std::string way = how;
  puts("before the end");
  fflush(stdout);
  if (way == "exit") exit(3);
  if (way == "_exit") _exit(3);
  if (way == "quick_exit") quick_exit(3);
  if (way == "abort") abort();
  if (way == "throw") throw std::runtime_error("nobody catches this");
  if (way == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (way == "term") raise(SIGTERM);
  if (way == "kill") raise(SIGKILL);
  if (way == "thread_exit") {
    std::thread([] { exit(3); }).join();
  }
  if (way == "handler_exit") {
    signal(SIGUSR1, [](int) { _exit(3); });
    raise(SIGUSR1);
  }
  return 3;
}

// ---- signals

std::atomic<int> g_signals{0};

/// A timer 1,000 times a second (`real` or `prof`), handled on a stack of its own.
int timer_signals(const char* which) {
  static char stack[64 * 1024];
  const stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  const bool profiles = std::string(which) == "prof";
  struct sigaction action {};
  action.sa_handler = [](int) { g_signals.fetch_add(1); };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(profiles ? SIGPROF : SIGALRM, &action, nullptr);
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(profiles ? ITIMER_PROF : ITIMER_REAL, &often, nullptr);
  double sum = 0;
  {
    const Busy busy(2);
    while (g_signals < 200) sum += make_tensors(1);
  }
  printf("%s\n", sum > 0 ? "200 signals" : "nothing computed");
  return 0;
}

// ---- loaded objects

/// Loads and unloads the objects of a list, several times over, calling each: `FILE[,FILE]...`.
int load_and_unload(const char* files) {
  Busy busy(2);
  std::string list = files;
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      void* object = dlopen(list.substr(at, end - at).c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (object == nullptr) {
        printf("%s\n", dlerror());
        return 1;
      }
      const auto make = reinterpret_cast<int (*)(int)>(dlsym(object, "extension_make"));
      make_tensors(1);  // an operator: it causes a search for new objects
      sum += make(10);
      if (dlclose(object) != 0) return 1;
      make_tensors(1);
      at = end + 1;
    }
  }
  printf("%d\n", sum);
  return 0;
}

/// A name space of its own for an object that needs only the C library.
int load_apart(const char* file) {
  make_tensors(1);
  void* object = dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    printf("%s\n", dlerror());
    return 1;
  }
  const auto where = reinterpret_cast<const char* (*)()>(dlsym(object, "where_am_i"));
  make_tensors(1);
  printf("%s\n", where != nullptr ? where() : "no symbol");
  return 0;
}

/// Calls `find_beside` and `find_next` of an object.
int find_both(const char* file) {
  make_tensors(1);
  void* object = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (object == nullptr) {
    printf("%s\n", dlerror());
    return 1;
  }
  for (const char* name : {"find_beside", "find_next"}) {
    const auto find = reinterpret_cast<const char* (*)()>(dlsym(object, name));
    printf("%s: %s\n", name, find != nullptr ? find() : "no symbol");
  }
  return 0;
}

// ---- under pressure

/// How often this thread gave up its core by itself.
long times_waited() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// Makes tensors until it is asked to end, then prints how many, and for how many milliseconds at most it waited
/// between two. Its standard input is a file of two numbers of 8 bytes: the tensors made so far, and whether to end.
int keep_going(const char*) {
  using Clock = std::chrono::steady_clock;
  void* mapped = mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
  if (mapped == MAP_FAILED) return 1;
  auto* const made = static_cast<std::atomic<std::int64_t>*>(mapped);
  const auto* const ends = made + 1;
  printf("%d\n", static_cast<int>(getpid()));
  fflush(stdout);
  Clock::duration longest{};
  auto last = Clock::now();
  for (long waits = times_waited(); *ends == 0;) {
    make_tensors(20);
    *made += 20;
    const auto now = Clock::now();
    // A thread that the system preempted did not wait.
    const long waited = times_waited();
    if (waited != waits) longest = std::max(longest, now - last);
    waits = waited;
    last = now;
  }
  printf("%ld %ld\n", static_cast<long>(*made),
         static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()));
  return 0;
}

int make(const char* count) {
  printf("%g\n", make_tensors(atoi(count)));
  return 0;
}

const std::map<std::string, int (*)(const char*)> kCases = {
    {"fork", fork_and_go_on},
    {"fork_between_releases", fork_between_releases},
    {"execute", fork_and_execute},
    {"clone", raw_clone},
    {"fork_in_handler", fork_in_handler},
    {"threads", many_threads},
    {"cancel", cancelled_threads},
    {"main_thread_ends", main_thread_ends},
    {"leave", leave},
    {"timer", timer_signals},
    {"load", load_and_unload},
    {"load_apart", load_apart},
    {"find_both", find_both},
    {"keep_going", keep_going},
    {"make", make},
};

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc > 1 ? kCases.find(argv[1]) : kCases.end();
  if (found == kCases.end()) return 2;
  return found->second(argc > 2 ? argv[2] : "");
}
