#include "analyzer/rules/said_twice.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/growth/object_growth.h"
#include "analyzer/growth/outside_kinds.h"
#include "analyzer/storages/without_numbers.h"

namespace dcmt::analyzer {
namespace {

/// True if a finding about storages already reports this growth, with the holder. torch's processes can share storages
/// that no allocator of torch has allocated.
bool is_of_storages(const TraceData& data, const Finding& outside, const Finding& other) {
  if (!outside.outside || outside.outside->kind != "shared tensors") return false;
  if (!other.growth || 2 * other.growth->per_round.value < outside.outside->per_step.value) return false;
  return std::ranges::all_of(other.growth->storages, [&](const GrowingStorage& storage) {
    return data.blocks_by_storage.of(storage.storage).empty();
  });
}

/// True if the other finding names the holder of these objects, or what leads to it: of storages, or of arrays.
bool names_its_holder(const Finding& objects, const Finding& other) {
  if (!objects.objects) return false;
  const std::string holder = without_numbers(objects.objects->holder);
  const auto has_it = [&](std::string_view named) {
    const std::string other_holder = without_numbers(named);
    return other_holder == holder || is_below(holder, other_holder);
  };
  return (other.growth && has_it(other.growth->holder)) ||
         (other.outside && other.outside->holder && has_it(*other.outside->holder));
}

/// True if storages of the same holder grow: one change of the program lets go of both.
bool is_of_same_holder(const Finding& outside, const Finding& other) {
  return outside.outside && outside.outside->holder && other.growth && *outside.outside->holder == other.growth->holder;
}

/// True if the other finding names who holds the objects that the native memory is of. Objects of Python, torch and
/// numpy have other parts, too: graphs of autograd, tables.
bool names_holder_of_native(const Finding& native, const Finding& other) {
  if (!native.native || !native.native->of_objects) return false;
  return other.growth || other.objects || (other.outside && other.outside->holder);
}

/// What collections of objects grow by in a round, or places of C and C++, which can have the same objects.
template <class Member>
std::int64_t per_round_of(const std::vector<Finding>& findings, Member growth, std::string_view unit) {
  std::int64_t sum = 0;
  for (const Finding& each : findings) {
    const auto& grows = each.*growth;
    if (grows && grows->unit == unit) sum += grows->per_round.value;
  }
  return sum;
}

/// The part of a class's growth that other findings are at least. Small allocations of C and C++ have headers and holes
/// between them, which no sample counts.
constexpr std::int64_t kPartOfObjects = 2, kPartOfNative = 3;

/// True if what is known of this growth is its class alone, and other findings explain it.
bool is_explained(const Finding& outside, const std::vector<Finding>& findings) {
  if (!outside.outside || outside.outside->holder) return false;
  if (std::ranges::find(kKindsWithObjects, outside.outside->kind) == kKindsWithObjects.end()) return false;
  const std::string_view unit = outside.outside->unit;
  const std::int64_t all = outside.outside->per_step.value;
  return kPartOfObjects * per_round_of(findings, &Finding::objects, unit) >= all ||
         kPartOfNative * per_round_of(findings, &Finding::native, unit) >= all;
}

template <typename Says>
void drop_if_said(std::vector<Finding>& findings, const Says& is_said_by) {
  std::set<std::int64_t> said;
  for (const Finding& each : findings) {
    if (std::ranges::any_of(findings, [&](const Finding& other) { return is_said_by(each, other); })) {
      said.insert(each.number);
    }
  }
  std::erase_if(findings, [&](const Finding& each) { return said.contains(each.number); });
}

}  // namespace

void drop_said_twice(const TraceData& data, std::vector<Finding>& findings) {
  drop_if_said(findings, [&](const Finding& each, const Finding& other) { return is_of_storages(data, each, other); });
  drop_if_said(findings, names_its_holder);
  drop_if_said(findings, is_of_same_holder);
  const std::vector<Finding> said = findings;
  std::erase_if(findings, [&](const Finding& each) { return is_explained(each, said); });
  drop_if_said(findings, names_holder_of_native);
}

}  // namespace dcmt::analyzer
