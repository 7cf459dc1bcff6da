// What storages are for that no reading of the memory has met: by the phases in which they begin and end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/sample.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// What is made and dropped within one phase.
inline constexpr std::string_view kTemporary = "temporary";

/// A reading takes some milliseconds, and what lives for less is in none. Where all storages of one place and size have
/// the same kind of life, in several steps, that says what they are for.
class PhaseLives {
 public:
  /// By a sample of all storages. The trace is not needed afterwards.
  explicit PhaseLives(const TraceData& data);

  /// kTemporary; or "saved for backward" of what is made before a backward and ends in it: no code of the program's
  /// loop runs there, so the graph dropped it; or "gradient" of what a backward makes and the next step drops, if it
  /// has the size of a parameter and each step makes no more of them than there are parameters of that size. Nothing
  /// where lives differ, or fewer than three have ended.
  [[nodiscard]] std::optional<std::string_view> category_of(StackId made, Bytes size) const;

 private:
  struct Ends {
    std::int64_t all = 0, temporary = 0, in_backward = 0, to_next_step = 0;
  };
  ByPlaceAndSize<Ends> ends_;
  std::map<Bytes, std::int64_t> parameters_;  ///< how many storages of each size readings found to be some
  std::int64_t steps_ = 0;
};

}  // namespace dcmt::analyzer
