#include "analyzer/storages/one_by_one.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kFewestInTurn = 3;

/// 0 if steps between the first and the last of them have different numbers of ends.
std::int64_t ends_each_step(const std::map<const Step*, std::int64_t>& ends) {
  if (ends.empty()) return 0;
  const std::int64_t each = ends.begin()->second;
  for (const Step* step = ends.begin()->first; step <= ends.rbegin()->first; ++step) {
    const auto found = ends.find(step);
    if (found == ends.end() || found->second != each || step->sums.valid()) return 0;
  }
  return each;
}

}  // namespace

bool replaced_one_by_one(const std::vector<const Storage*>& alike, const std::vector<Step>& steps) {
  std::map<const Step*, std::int64_t> ends;
  std::vector<Sequence> begun, ended;
  std::int64_t in_next_step = 0;
  std::ptrdiff_t oldest_ended = 0, oldest_alive = 0;  // in steps
  for (const Storage* storage : alike) {
    begun.push_back(storage->span.from_seq);
    const Step* const first = step_at(steps, storage->span.from_seq);
    if (first == nullptr) continue;
    const Step* const last = storage->span.ended() ? step_at(steps, storage->span.to_seq) : nullptr;
    if (last == nullptr) {
      oldest_alive = std::max(oldest_alive, &steps.back() - first);
      continue;
    }
    ended.push_back(storage->span.to_seq);
    ++ends[last];
    oldest_ended = std::max(oldest_ended, last - first);
    if (last == first + 1) ++in_next_step;
  }
  const std::int64_t each = ends_each_step(ends);
  if (each == 0 || std::ssize(ended) < kFewestInTurn || 2 * in_next_step <= std::ssize(ended)) return false;
  if (oldest_alive > oldest_ended) return false;
  std::ranges::sort(begun);
  std::ranges::sort(ended);
  std::int64_t so_far = 0;
  return std::ranges::all_of(
      ended, [&](Sequence end) { return std::ranges::lower_bound(begun, end) - begun.begin() - ++so_far >= each; });
}

}  // namespace dcmt::analyzer
