#include "executor/nccl_world.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/headeronly/version.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "executor/nccl_functions.h"
#include "executor/symmetric_window.h"

namespace dcmt::zero3 {
namespace {

using nccl::Result;

class NcclWorld final : public World {
 public:
  NcclWorld(const nccl::Functions& functions, nccl::Communicator* communicator, int rank, int size, c10::Device device)
      : nccl_(functions), communicator_(communicator), rank_(rank), size_(size), device_(device) {}
  ~NcclWorld() override {
    if (communicator_ != nullptr) nccl_.destroy(communicator_);
  }
  NcclWorld(const NcclWorld&) = delete;
  NcclWorld& operator=(const NcclWorld&) = delete;

  /// Uses windows of symmetric memory for all-gathers from here on. Every rank must call it.
  void use_windows(const std::string& group, const Place& place) {
    through_windows(place, [&] { window_.emplace(group, device_); });
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  c10::Device device() const override { return device_; }
  void leave() override { end_ = "this rank has left the world"; }
  void give_up() override { abort("it was given up"); }

 private:
  void run_gathers(const std::vector<GatherTask>& tasks, const Place& place) override {
    for (const GatherTask& task : tasks) check(task.shard, task.into, place);
    if (window_) {
      through_windows(place, [&] {
        for (const GatherTask& task : tasks) window_->gather(task);
      });
      return;
    }
    in_group(
        place,
        [&](std::size_t i, nccl::Stream stream) {
          const at::Tensor& from = tasks[i].shard;
          if (from.numel() == 0) return Result::kSuccess;
          return nccl_.all_gather(from.const_data_ptr(), tasks[i].into.mutable_data_ptr(),
                                  static_cast<std::size_t>(from.numel()), *nccl::dtype_of(from.scalar_type()),
                                  communicator_, stream);
        },
        tasks.size());
  }

  void run_reductions(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) override {
    for (const ReduceTask& task : tasks) check(task.into, task.from, place);
    const auto operation = reduction == Reduction::kSum ? nccl::Operation::kSum : nccl::Operation::kMean;
    in_group(
        place,
        [&](std::size_t i, nccl::Stream stream) {
          const at::Tensor& into = tasks[i].into;
          if (into.numel() == 0) return Result::kSuccess;
          return nccl_.reduce_scatter(tasks[i].from.const_data_ptr(), into.mutable_data_ptr(),
                                      static_cast<std::size_t>(into.numel()), *nccl::dtype_of(into.scalar_type()),
                                      operation, communicator_, stream);
        },
        tasks.size());
  }

  /// Checks arguments that NCCL does not check. `part` belongs to one rank, `whole` to all ranks.
  void check(const at::Tensor& part, const at::Tensor& whole, const Place& place) const {
    for (const at::Tensor* one : {&part, &whole}) {
      if (one->device() != device_) fail(place, "a tensor is on " + one->device().str() + ", not on " + device_.str());
      if (!one->is_contiguous()) fail(place, "a tensor is not contiguous");
    }
    if (part.scalar_type() != whole.scalar_type() || !nccl::dtype_of(part.scalar_type())) {
      fail(place, std::string("from ") + c10::toString(part.scalar_type()) + " to " +
                      c10::toString(whole.scalar_type()) + " is nothing that NCCL does");
    }
    if (whole.numel() != part.numel() * size_) {
      fail(place, std::to_string(whole.numel()) + " elements are not " + std::to_string(size_) + " times " +
                      std::to_string(part.numel()));
    }
  }

  template <typename Launch>
  void in_group(const Place& place, const Launch& launch, std::size_t tasks) {
    if (!end_.empty()) fail(place, end_);
    const c10::DeviceGuard guard(device_);
    const nccl::Stream stream = current_stream();
    Result result = nccl_.group_start();
    if (result == Result::kSuccess) {
      for (std::size_t i = 0; i < tasks && result == Result::kSuccess; ++i) result = launch(i, stream);
      const Result closed = nccl_.group_end();
      if (result == Result::kSuccess) result = closed;
    }
    if (result != Result::kSuccess) failed(result, place);
  }

  template <typename Work>
  void through_windows(const Place& place, const Work& work) {
    if (!end_.empty()) fail(place, end_);
    const c10::DeviceGuard guard(device_);
    try {
      work();
    } catch (const c10::Error& error) {
      abort(std::string("symmetric memory: ") + error.what_without_backtrace());
      fail(place, end_);
    }
  }

  nccl::Stream current_stream() const {
    if (device_.is_cpu()) return nullptr;
    const c10::impl::VirtualGuardImpl implementation(device_.type());
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
    return implementation.getStreamNativeHandle(implementation.getStream(device_));
#else
    fail(Place{"NCCL"}, "a GPU needs torch 2.11 or newer: an older one gives no native stream");
#endif
  }

  [[noreturn]] void failed(Result result, const Place& place) {
    std::string why = std::string("NCCL: ") + nccl_.error_string(result);
    if (const char* details = nccl_.last_error(communicator_); details != nullptr && *details != '\0') {
      why += std::string(" (") + details + ")";
    }
    if (result != Result::kInvalidArgument && result != Result::kInvalidUsage) abort(why);
    fail(place, why);
  }

  void abort(const std::string& why) {
    if (communicator_ == nullptr) return;
    nccl_.abort(std::exchange(communicator_, nullptr));
    end_ = "the communicator has ended: " + why;
  }

  const nccl::Functions& nccl_;
  nccl::Communicator* communicator_;
  const int rank_;
  const int size_;
  const c10::Device device_;
  std::optional<SymmetricWindow> window_;
  std::string end_;  ///< why collectives are impossible from now on; empty: they are possible
};

void check(Result result, const char* what, const nccl::Functions& nccl, const Place& place) {
  if (result != Result::kSuccess) fail(place, std::string(what) + ": " + nccl.error_string(result));
}

}  // namespace

at::Tensor nccl_unique_id(const Place& place) {
  const nccl::Functions& nccl = nccl::functions(place);
  nccl::UniqueId id;
  check(nccl.get_unique_id(&id), "ncclGetUniqueId", nccl, place);
  const at::Tensor bytes = at::empty({sizeof id}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &id, sizeof id);
  return bytes;
}

std::shared_ptr<World> join_nccl_world(const at::Tensor& unique_id, int rank, int size, c10::Device device,
                                       const std::optional<std::string>& symmetric_group, const Place& place) {
  nccl::UniqueId id;
  if (!unique_id.is_cpu() || !unique_id.is_contiguous() || unique_id.nbytes() != sizeof id) {
    fail(place, "a unique id has " + std::to_string(sizeof id) + " bytes, on the CPU");
  }
  if (size < 1 || rank < 0 || rank >= size) {
    fail(place, "rank " + std::to_string(rank) + " is not one of " + std::to_string(size));
  }
  std::memcpy(&id, unique_id.const_data_ptr(), sizeof id);
  const nccl::Functions& nccl = nccl::functions(place);
  if (device.is_cpu() ? nccl.is_torchs : !device.has_index()) {
    fail(place, "a rank has a GPU of its own, whose number is needed");
  }
  const c10::DeviceGuard guard(device);
  nccl::Communicator* communicator = nullptr;
  check(nccl.init_rank(&communicator, size, id, rank), "ncclCommInitRank", nccl, place);
  auto world = std::make_shared<NcclWorld>(nccl, communicator, rank, size, device);
  if (symmetric_group) world->use_windows(*symmetric_group, place);
  return world;
}

}  // namespace dcmt::zero3
