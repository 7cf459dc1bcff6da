// Symmetric memory for tests of the executor, registered with torch for the CPU: ranks are threads of one process. A
// group's name is NUMBER:SIZE:RANK.
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::chrono::seconds kLongestWait{20};

/// Where the ranks meet.
class Group {
 public:
  explicit Group(int size) : pointers_(static_cast<std::size_t>(size)) {}

  /// Waits until every rank has brought its own.
  std::vector<void*> exchange(int rank, void* mine) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      pointers_[static_cast<std::size_t>(rank)] = mine;
    }
    barrier();
    std::vector<void*> all = pointers_;
    barrier();
    return all;
  }

  void barrier() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t round = round_;
    if (++come_ == pointers_.size()) {
      come_ = 0;
      ++round_;
      changed_.notify_all();
    }
    TORCH_CHECK(changed_.wait_for(lock, kLongestWait, [&] { return round_ != round; }), "not all ranks have come");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<void*> pointers_;
  std::size_t come_ = 0;
  std::uint64_t round_ = 0;
};

struct Seat {
  std::shared_ptr<Group> group;
  int rank = 0;
};

Seat seat_of(const std::string& name) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<Group>> groups;
  int number = 0;
  int size = 0;
  Seat seat;
  TORCH_CHECK(std::sscanf(name.c_str(), "%d:%d:%d", &number, &size, &seat.rank) == 3, "no such group: ", name);
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Group>& group = groups[number];
  if (group == nullptr) group = std::make_shared<Group>(size);
  seat.group = group;
  return seat;
}

class Memory final : public c10d::symmetric_memory::SymmetricMemory {
 public:
  Memory(Seat seat, std::vector<void*> pointers, std::size_t bytes)
      : seat_(std::move(seat)), pointers_(std::move(pointers)), bytes_(bytes) {}

  std::vector<void*> get_buffer_ptrs() override { return pointers_; }
  std::vector<void*> get_signal_pad_ptrs() override { return {}; }
  void** get_buffer_ptrs_dev() override { return nullptr; }
  void** get_signal_pad_ptrs_dev() override { return nullptr; }
  std::size_t get_buffer_size() override { return bytes_; }
  std::size_t get_offset() override { return 0; }
  bool has_multicast_support() override { return false; }
  void* get_multicast_ptr() override { return nullptr; }
  void barrier(int /*channel*/, std::size_t /*timeout_ms*/) override { seat_.group->barrier(); }
  void put_signal(int, int, std::size_t) override { TORCH_CHECK(false, "there are no signals"); }
  void wait_signal(int, int, std::size_t) override { TORCH_CHECK(false, "there are no signals"); }
  int get_rank() override { return seat_.rank; }
  int get_world_size() override { return static_cast<int>(pointers_.size()); }
  c10::Device get_device() override { return at::kCPU; }

 private:
  const Seat seat_;
  const std::vector<void*> pointers_;
  const std::size_t bytes_;
};

class Allocator final : public c10d::symmetric_memory::SymmetricMemoryAllocator {
 public:
  void* alloc(std::size_t size, int, const std::optional<std::string>&) override {
    void* memory = std::malloc(size);
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[memory] = size;
    return memory;
  }
  void free(void* memory) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      sizes_.erase(memory);
    }
    std::free(memory);
  }
  std::size_t get_alloc_size(void* memory) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sizes_.at(memory);
  }
  c10::intrusive_ptr<c10d::symmetric_memory::SymmetricMemory> rendezvous(
      void* memory, const std::optional<std::string>& name) override {
    Seat seat = seat_of(name.value());
    std::vector<void*> all = seat.group->exchange(seat.rank, memory);
    return c10::make_intrusive<Memory>(std::move(seat), std::move(all), get_alloc_size(memory));
  }
  bool has_multicast_support(int) override { return false; }
  c10::DeviceType supported_device_type() override { return at::kCPU; }
  std::string name() override { return "TEST"; }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
};

const bool g_registered = [] {
  c10d::symmetric_memory::register_allocator(at::kCPU, c10::make_intrusive<Allocator>());
  return true;
}();

}  // namespace
