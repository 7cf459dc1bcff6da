// The names of traces and spools.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace dcmt::recorder {

/// The key of RunState::traces.
inline std::string spool_stem(const std::string& spool_path) {
  return std::filesystem::path(spool_path).stem().string();
}

/// By rank, if the process has one (-1: none). If `is_used` returns true for the name, adds a number.
template <class IsUsed>
std::string unused_trace_name(std::int32_t rank, std::uint32_t pid, IsUsed&& is_used) {
  const std::string stem = rank >= 0 ? fmt::format("rank{}", rank) : fmt::format("pid{}", pid);
  std::string name = stem + ".dcmt";
  for (int number = 2; is_used(name); ++number) name = fmt::format("{}-{}.dcmt", stem, number);
  return name;
}

}  // namespace dcmt::recorder
