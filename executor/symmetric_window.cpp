#include "executor/symmetric_window.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace dcmt::zero3 {
namespace {

namespace symmetric = c10d::symmetric_memory;

constexpr int kChannel = 0;
constexpr std::size_t kLongestBarrierMs = 60'000;

c10::Stream current_stream(c10::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

}  // namespace

SymmetricWindow::SymmetricWindow(std::string group, c10::Device device) : group_(std::move(group)), device_(device) {
  if (!device_.is_cpu()) last_.emplace(device_.type());
  grow(1);
}

void SymmetricWindow::gather(const GatherTask& task) {
  const std::int64_t each = task.shard.numel();
  if (each == 0) return;
  if (last_) last_->block(current_stream(device_));
  const auto bytes = static_cast<std::int64_t>(task.shard.nbytes());
  if (bytes > mine_.numel()) grow(bytes);
  const auto window = [&](int rank) { return all_->get_buffer(rank, {each}, task.shard.scalar_type(), 0); };
  const int rank = all_->get_rank();
  const int size = all_->get_world_size();
  window(rank).copy_(task.shard.view({-1}));
  all_->barrier(kChannel, kLongestBarrierMs);
  // Begin with the rank's own window and go down, so that no window has many readers at once.
  for (int step = 0; step < size; ++step) {
    const int from = (rank - step + size) % size;
    task.into.narrow(0, from * each, each).copy_(window(from));
  }
  all_->barrier(kChannel, kLongestBarrierMs);
  if (last_) last_->record(current_stream(device_));
}

void SymmetricWindow::grow(std::int64_t bytes) {
  // Wait for the last barrier: after it, no other rank reads the old window.
  if (last_) c10::impl::VirtualGuardImpl(device_.type()).synchronizeStream(current_stream(device_));
  all_.reset();
  mine_ = symmetric::empty_strided_p2p({bytes}, {1}, at::kByte, device_, group_, std::nullopt);
  all_ = symmetric::rendezvous(mine_, group_);
}

}  // namespace dcmt::zero3
