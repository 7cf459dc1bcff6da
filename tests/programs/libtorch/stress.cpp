// Many threads make storages and tensors, share, move, resize and hand them to each other, which end them.
//
// Usage: libtorch_stress FOLDER STORAGES STEPS THREADS [PAUSE_MS]. At the end of every step all threads stand still,
// the program marks the step and writes two lists of what lives then: FOLDER/N.held, from its own containers, and
// FOLDER/N.found, by live_objects.h. PAUSE_MS is waited at each step, so that a recorder on a slow machine can follow.
// Prints one JSON line: the storages and tensors that the program made and those that it holds at the end.
#include <ATen/ATen.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collector/include/dcmt/marks.h"
#include "live_objects.h"

namespace {

constexpr std::size_t kHeldPerThread = 1000;
constexpr std::int64_t kMaxBytes = 8192;

/// The tensors of one storage, or what became of them: they may have moved to another slot's storage since.
using Slot = std::array<at::Tensor, 3>;

struct Worker {
  std::minstd_rand random;
  std::vector<Slot> slots;
  std::mutex mutex;        ///< of `given`
  std::deque<Slot> given;  ///< by another thread, to end here
  std::int64_t storages = 0;
  std::int64_t tensors = 0;

  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; }

  at::Tensor bytes(std::int64_t count) {
    ++storages;
    ++tensors;
    return at::empty({count}, at::kByte);
  }

  at::Tensor shared(const at::Tensor& with) {
    ++tensors;
    switch (below(4)) {
      case 0:
        return with.detach();
      case 1:
        return with.view({-1, 1});
      case 2:
        return with.unsqueeze(0);
      default:
        return with.narrow(0, 0, with.size(0) / 2);
    }
  }

  Slot make() {
    at::Tensor base = bytes(1 + below(kMaxBytes));
    return {base, shared(base), shared(base)};
  }

  /// One of the ways in which a storage or a tensor changes while it lives.
  void change(Slot& slot) {
    const Slot& other = slots[static_cast<std::size_t>(below(static_cast<std::int64_t>(slots.size())))];
    switch (below(8)) {
      case 0:
        slot[1].set_data(other[0]);
        break;
      case 1:
        slot[2].set_(other[0].storage());
        break;
      case 2:
        slot[0].resize_({1 + below(2 * kMaxBytes)});
        break;
      case 3:
        slot[2].set_(other[0]);
        break;
      case 4:
        ++storages;  // an empty one of its own
        slot[1].set_();
        break;
      default:
        break;
    }
  }

  void work(std::int64_t count, Worker& next) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (slots.size() < kHeldPerThread) slots.push_back(make());
      Slot& slot = slots[static_cast<std::size_t>(below(static_cast<std::int64_t>(slots.size())))];
      if (below(3) == 0) {
        const std::lock_guard lock(next.mutex);
        next.given.push_back(std::move(slot));
      }
      slot = make();
      change(slot);
      std::deque<Slot> dying;
      const std::lock_guard lock(mutex);
      if (given.size() > 20) dying.swap(given);
    }
  }
};

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

bool write_held(const std::string& path, const std::vector<Worker>& workers) {
  FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  std::map<std::uint64_t, std::uint64_t> storages;
  const auto write = [&](const Slot& slot) {
    for (const at::Tensor& tensor : slot) {
      const auto* storage = tensor.storage().unsafeGetStorageImpl();
      storages[number(storage)] = storage->nbytes();
      std::fprintf(file, "tensor %lu %lu\n", number(tensor.unsafeGetTensorImpl()), number(storage));
    }
  };
  for (const Worker& worker : workers) {
    for (const Slot& slot : worker.slots) write(slot);
    for (const Slot& slot : worker.given) write(slot);
  }
  for (const auto& [storage, bytes] : storages) std::fprintf(file, "storage %lu %lu\n", storage, bytes);
  return std::fclose(file) == 0;
}

const void* first_word(const void* object) { return *static_cast<const void* const*>(object); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string folder = argv[1];
  const std::int64_t total = std::atoll(argv[2]);
  const std::int64_t steps = std::atoll(argv[3]);
  const auto threads = static_cast<std::size_t>(std::atoll(argv[4]));
  const auto pause = std::chrono::milliseconds(argc > 5 ? std::atoll(argv[5]) : 0);
  const dcmt_marks* marks = dcmt_get_marks_table();

  std::vector<Worker> workers(threads);
  {
    const at::Tensor tensor = at::empty({1});
    live_objects_tensor_class(first_word(tensor.unsafeGetTensorImpl()));
    live_objects_storage_class(first_word(tensor.storage().unsafeGetStorageImpl()));
  }
  bool written = true;
  std::int64_t step = 0;
  std::barrier all_stand(static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
    if (marks != nullptr) marks->step(step);
    const std::string name = folder + "/" + std::to_string(step);
    written = write_held(name + ".held", workers) && live_objects_write((name + ".found").c_str()) >= 0 && written;
    ++step;
    std::this_thread::sleep_for(pause);
  });
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    workers[i].random.seed(static_cast<unsigned>(i) + 1);
    running.emplace_back([&, i] {
      for (std::int64_t s = 0; s < steps; ++s) {
        workers[i].work(total / steps / static_cast<std::int64_t>(threads), workers[(i + 1) % threads]);
        all_stand.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : running) thread.join();

  std::int64_t storages = 1;  // the one whose class was read
  std::int64_t tensors = 1;
  for (const Worker& worker : workers) {
    storages += worker.storages;
    tensors += worker.tensors;
  }
  std::printf(R"({"storages": %ld, "tensors": %ld})"
              "\n",
              storages, tensors);
  std::fflush(stdout);
  std::_Exit(written ? 0 : 1);  // what lives now lives to the end: no destructor runs
}
