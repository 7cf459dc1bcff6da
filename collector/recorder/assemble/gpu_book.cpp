#include "collector/recorder/assemble/gpu_book.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "collector/recorder/keep/device.h"

namespace dcmt::recorder {
namespace {

/// As NVML and nvidia-smi write it.
std::string text_of(const std::uint8_t (&uuid)[16]) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < std::size(uuid); ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    fmt::format_to(std::back_inserter(text), "{}{:02x}", begins_group ? "-" : "", uuid[i]);
  }
  return text;
}

}  // namespace

Status GpuBook::gpu(const wire::GpuRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  if (!device || !device->gpu()) return journal_.bad_record("a GPU");
  gpus_[*device->gpu()].uuid = text_of(record.uuid);
  return {};
}

void GpuBook::reserved(const wire::ReservedRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  if (!device || !device->gpu() || record.reserved > kMostDeviceBytes) return;  // Lifetimes reports it
  GpuSample& then = gpus_[*device->gpu()];
  then.reserved = static_cast<std::int64_t>(record.reserved);
  then.changed_ns = journal_.now.ns;
}

}  // namespace dcmt::recorder
