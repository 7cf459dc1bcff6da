// How traces and spools are named.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// The key of RunState::traces.
inline std::string spool_stem(const std::string& spool_path) {
  return std::filesystem::path(spool_path).stem().string();
}

/// By rank, if the process has one. Where `is_used` says that an earlier one has the name, a number is added.
template <class IsUsed>
std::string unused_trace_name(const spool::ProcessFacts& facts, IsUsed&& is_used) {
  const std::string stem = facts.rank >= 0 ? fmt::format("rank{}", facts.rank) : fmt::format("pid{}", facts.pid);
  std::string name = stem + ".dcmt";
  for (int number = 2; is_used(name); ++number) name = fmt::format("{}-{}.dcmt", stem, number);
  return name;
}

}  // namespace dcmt::recorder
