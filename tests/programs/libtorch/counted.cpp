// Threads that make and end storages, partly inside of backward, and count them in a file that outlives the process.
//
// Usage: libtorch_counted FILE THREADS. FILE holds, for each thread, four numbers of 8 bytes: storages made and ended
// so far, whether the thread is in backward, and the bytes of each of its storages, which nothing else has. Then two
// that others write: whether the program is to end, and whether a thread that is in backward stays there.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// A recorder on a slow machine follows: nothing is to be lost for want of room.
constexpr std::chrono::microseconds kPause{100};

struct Counters {
  std::atomic<std::uint64_t> made;
  std::atomic<std::uint64_t> ended;
  std::atomic<std::uint64_t> in_backward;
  std::uint64_t bytes;
};

struct Wishes {
  std::atomic<std::uint64_t> end;
  std::atomic<std::uint64_t> stay_in_backward;
};

void make_and_end(Counters& counters, int count) {
  for (int i = 0; i < count; ++i) {
    at::Tensor tensor = at::empty({static_cast<std::int64_t>(counters.bytes)}, at::kByte);
    counters.made.fetch_add(1);
    at::Tensor view = tensor.view({-1, 1});
    tensor.reset();
    view.reset();
    counters.ended.fetch_add(1);
  }
}

void train(Counters& counters, const Wishes& wishes) {
  const at::Tensor weight = at::ones({64, 64}).requires_grad_();
  weight.register_hook([&](const at::Tensor&) {
    for (int i = 0; i < 20 || wishes.stay_in_backward != 0; ++i) {
      make_and_end(counters, 1);
      std::this_thread::sleep_for(kPause);
    }
  });
  while (wishes.end == 0) {
    make_and_end(counters, 10);
    const at::Tensor loss = at::rand({16, 64}).matmul(weight).tanh().square().mean();
    counters.in_backward.store(1);
    loss.backward();
    counters.in_backward.store(0);
    weight.mutable_grad().reset();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto threads = static_cast<std::size_t>(std::atoi(argv[2]));
  const std::size_t bytes = threads * sizeof(Counters) + sizeof(Wishes);
  const int file = open(argv[1], O_RDWR | O_CLOEXEC);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return 1;
  auto* counters = static_cast<Counters*>(mapped);
  const Wishes& wishes = *reinterpret_cast<Wishes*>(counters + threads);

  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    counters[i].bytes = 70001 + i;
    running.emplace_back([&counters = counters[i], &wishes] { train(counters, wishes); });
  }
  for (std::thread& thread : running) thread.join();
  return 0;
}
