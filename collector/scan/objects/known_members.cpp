#include "collector/scan/objects/known_members.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

struct Member {
  std::string_view type;
  std::int64_t offset;
  std::string_view name;
};

// The offsets are equal in CPython 3.11 to 3.15. tests/snapshot_test.py checks each with a planted holder.
constexpr Member kMembers[] = {
    {"builtin_function_or_method", 24, ".__self__"},
    {"method-wrapper", 24, ".__self__"},
    {"property", 16, ".fget"},
    {"property", 24, ".fset"},
    {"property", 32, ".fdel"},
    {"list_iterator", 24, " (iterates)"},
    {"tuple_iterator", 24, " (iterates)"},
    {"map", 16, " (iterators)"},
    {"map", 24, " (function)"},
    {"mappingproxy", 16, " (mapping)"},
    {"dict_keys", 16, " (dict)"},
    {"dict_values", 16, " (dict)"},
    {"dict_items", 16, " (dict)"},
    {"_thread._local", 40, " (by thread)"},  // since 3.14; before, weak references, which are not followed
    {"_thread._local", 48, " (by thread)"},  // before 3.14
    {"_contextvars.ContextVar", 32, " (value)"},
    {"ContextVar", 32, " (value)"},
    {"numpy.ndarray", 48, ".base"},
};

}  // namespace

std::string_view known_member(std::string_view type_name, std::int64_t offset) {
  const auto* found = std::ranges::find_if(
      kMembers, [&](const Member& member) { return member.type == type_name && member.offset == offset; });
  return found == std::end(kMembers) ? std::string_view() : found->name;
}

}  // namespace dcmt::scan
