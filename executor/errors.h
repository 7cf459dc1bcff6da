// Errors that name the operator and its arguments: the graph and the parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dcmt::zero3 {

struct Place {
  const char* op;
  std::optional<std::int64_t> graph = std::nullopt;
  std::optional<std::int64_t> id = std::nullopt;
};

/// "release_param (graph 2, parameter 7)"
std::string text_of(const Place& place);

/// Throws a c10::Error, which Python sees as RuntimeError: "dcmt_z3::release_param (graph 2, parameter 7): WHAT".
[[noreturn]] void fail(const Place& place, const std::string& what);

}  // namespace dcmt::zero3
