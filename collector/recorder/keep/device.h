// The devices of blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dcmt::recorder {

/// Limit of a block's bytes, and of a device's.
inline constexpr std::uint64_t kMostDeviceBytes = std::uint64_t{1} << 46;

/// The CPU or one of CUDA's devices.
class Device {
 public:
  /// @param wire  as in wire::BlockRecord; nullopt for a device that no machine has
  static std::optional<Device> from_wire(std::uint32_t wire);
  /// @param gpu  as in BlockRow
  static std::optional<Device> from_row(std::optional<std::int64_t> gpu);
  static std::optional<Device> named(std::string_view name);

  [[nodiscard]] std::optional<std::int64_t> gpu() const;
  /// `cpu`, `cuda:0`: static text.
  [[nodiscard]] std::string_view name() const;

 private:
  explicit Device(std::uint32_t wire) : wire_(wire) {}

  std::uint32_t wire_;
};

}  // namespace dcmt::recorder
