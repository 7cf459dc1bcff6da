#include "analyzer/time/step_lookup.h"

namespace dcmt::analyzer {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

/// The two integers that a query with one parameter yields.
Expected<std::optional<Pair>> pair_of(Statement& query, std::int64_t number) {
  query.bind(1, number);
  DCMT_ASSIGN_OR_RETURN(bool row, query.step());
  if (!row) return std::optional<Pair>();
  const Pair found{query.integer(0), query.integer(1)};
  query.reset();
  return std::optional(found);
}

}  // namespace

Expected<StepLookup> StepLookup::open(Database& database) {
  // A sequence lies in the step that ends next: a long step has several intervals, and the last one has its number.
  DCMT_ASSIGN_OR_RETURN(
      Statement next,
      database.prepare(
          "SELECT step - steps + 1, step FROM interval WHERE step IS NOT NULL AND from_seq >="
          " coalesce((SELECT max(from_seq) FROM interval WHERE from_seq < ?), 0) ORDER BY from_seq LIMIT 1"));
  DCMT_ASSIGN_OR_RETURN(
      Statement latest,
      database.prepare(
          "SELECT step, step FROM interval WHERE step IS NOT NULL AND from_seq < ? ORDER BY from_seq DESC LIMIT 1"));
  DCMT_ASSIGN_OR_RETURN(
      Statement ends,
      database.prepare("SELECT (SELECT coalesce(max(b.to_seq), 0) + 1 FROM interval b WHERE b.step IS NOT NULL"
                       " AND b.from_seq < i.from_seq), to_seq"
                       " FROM interval i WHERE ? BETWEEN step - steps + 1 AND step ORDER BY from_seq LIMIT 1"));
  return StepLookup(std::move(next), std::move(latest), std::move(ends));
}

Expected<std::optional<StepRange>> StepLookup::between(Sequence from, Sequence to) {
  DCMT_ASSIGN_OR_RETURN(const std::optional<Pair> first, pair_of(next_, from.value));
  if (!first) return std::optional<StepRange>();
  Expected<std::optional<Pair>> last = pair_of(next_, to.value);
  if (last.ok() && !*last) last = pair_of(latest_, to.value);
  if (!last.ok()) return last.error();
  return std::optional(StepRange{first->first, (*last ? *last : first)->second});
}

Expected<std::optional<std::pair<Sequence, Sequence>>> StepLookup::ends_of(std::int64_t step) {
  DCMT_ASSIGN_OR_RETURN(const std::optional<Pair> ends, pair_of(ends_, step));
  if (!ends) return std::optional<std::pair<Sequence, Sequence>>();
  return std::optional(std::pair(Sequence(ends->first), Sequence(ends->second)));
}

}  // namespace dcmt::analyzer
