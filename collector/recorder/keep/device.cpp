#include "collector/recorder/keep/device.h"

#include <array>
#include <cstdio>

#include "trace/sql/limits.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {
namespace {

constexpr auto kGpus = static_cast<std::uint32_t>(kMostGpus);

const auto& names() {
  static const auto all = [] {
    std::array<std::array<char, 9>, kGpus + 1> made{};
    std::snprintf(made[wire::kCpuDevice].data(), made[0].size(), "cpu");
    for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      auto& name = made[wire::cuda_device(gpu)];
      std::snprintf(name.data(), name.size(), "cuda:%u", gpu % kGpus);
    }
    return made;
  }();
  return all;
}

}  // namespace

std::optional<Device> Device::from_wire(std::uint32_t wire) {
  return wire <= kGpus ? std::optional(Device(wire)) : std::nullopt;
}

std::optional<Device> Device::from_row(std::optional<std::int64_t> gpu) {
  if (!gpu) return Device(wire::kCpuDevice);
  return *gpu >= 0 && *gpu < kGpus ? std::optional(Device(wire::cuda_device(static_cast<std::uint32_t>(*gpu))))
                                   : std::nullopt;
}

std::optional<Device> Device::named(std::string_view name) {
  for (std::uint32_t wire = 0; wire <= kGpus; ++wire) {
    if (names()[wire].data() == name) return Device(wire);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Device::gpu() const {
  return wire_ == wire::kCpuDevice ? std::nullopt : std::optional<std::int64_t>(wire_ - wire::cuda_device(0));
}

std::string_view Device::name() const { return names()[wire_].data(); }

}  // namespace dcmt::recorder
