// How much of a process is recorded. Each level includes the level before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dcmt {

enum class Detail : std::uint32_t {
  kOutOfMemory = 0,  ///< blocks of kFollowedBytes or more; storages only as they are found when memory runs out
  kLifetimes = 1,    ///< storages of kFollowedBytes or more, and all released storages
  kFull = 2,         ///< all storages, tensors and blocks, and the stream events of the CUDA allocator
  kOperators = 3,    ///< every operator by name
};

/// Replaces the detail in a trace that was made from a memory snapshot of torch.
inline constexpr char kSnapshotDetail[] = "snapshot";

constexpr const char* text_of(Detail detail) {
  switch (detail) {
    case Detail::kOutOfMemory:
      return "oom";
    case Detail::kLifetimes:
      return "lifetimes";
    case Detail::kFull:
      return "full";
    case Detail::kOperators:
      return "operators";
  }
  return "";
}

constexpr std::optional<Detail> detail_of(std::string_view text) {
  for (const Detail detail : {Detail::kOutOfMemory, Detail::kLifetimes, Detail::kFull, Detail::kOperators}) {
    if (text == text_of(detail)) return detail;
  }
  return std::nullopt;
}

constexpr std::optional<Detail> detail_of(std::uint32_t number) {
  if (number > static_cast<std::uint32_t>(Detail::kOperators)) return std::nullopt;
  return static_cast<Detail>(number);
}

}  // namespace dcmt
