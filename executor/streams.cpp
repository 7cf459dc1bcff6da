#include "executor/streams.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace dcmt::zero3 {
namespace {

using Side = std::array<std::optional<c10::Stream>, kLines>;

/// Created once for each GPU, at the first use by a rank: torch's pool has 32 streams of a priority and assigns them in
/// rotation.
Side side_streams(c10::Device device) {
  static std::mutex mutex;
  static auto* all = new std::map<c10::Device, Side, bool (*)(c10::Device, c10::Device)>(
      [](c10::Device one, c10::Device other) { return one.index() < other.index(); });
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [found, is_new] = all->try_emplace(device);
  if (is_new) {
    const c10::impl::VirtualGuardImpl implementation(device.type());
    for (std::size_t line = 1; line < kLines; ++line) {
      found->second[line] = implementation.getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    }
  }
  return found->second;
}

c10::Device with_index(c10::Device device) {
  if (device.is_cpu() || device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

}  // namespace

Streams::Streams(c10::Device device) : device_(with_index(device)) {
  if (!on_gpu()) return;
  side_ = side_streams(device_);
  between_.emplace(device_.type());
}

c10::Stream Streams::get(Line line) const {
  if (!on_gpu()) return c10::Stream(c10::Stream::DEFAULT, device_);
  if (line == Line::kCurrent) return c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  return *side_[static_cast<std::size_t>(line)];
}

void Streams::after(const c10::Stream& later, Line earlier) {
  if (!on_gpu()) return;
  const c10::Stream first = get(earlier);
  if (first == later) return;
  between_->record(first);
  between_->block(later);
}

void Streams::set(Point& point, Line line) const {
  if (!on_gpu()) return;
  if (!point.event_) point.event_.emplace(device_.type());
  point.event_->record(get(line));
}

void Streams::wait(Line later, const Point& point) const {
  if (point.event_) point.event_->block(get(later));
}

void Streams::mark_used(const at::Tensor& tensor, Line line) const {
  if (!on_gpu() || tensor.device() != device_ || tensor.storage().nbytes() == 0) return;
  c10::impl::VirtualGuardImpl(device_.type()).recordDataPtrOnStream(tensor.storage().data_ptr(), get(line));
}

void Streams::synchronize(Line line) const {
  if (on_gpu()) c10::impl::VirtualGuardImpl(device_.type()).synchronizeStream(get(line));
}

bool Streams::drain(std::chrono::seconds longest) const noexcept try {
  if (!on_gpu()) return true;
  const c10::impl::VirtualGuardImpl implementation(device_.type());
  const auto end = std::chrono::steady_clock::now() + longest;
  for (std::size_t line = 1; line < kLines; ++line) {
    while (!implementation.queryStream(*side_[line])) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace dcmt::zero3
