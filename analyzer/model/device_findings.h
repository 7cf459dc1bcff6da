// Findings about memory that ran out.
#pragma once

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/live_set.h"

namespace dcmt::model {

struct OutOfMemory {
  RunPoint at;
  std::optional<std::int64_t> step;
  std::string_view device;
  Bytes requested, allocated;
  std::optional<Bytes> reserved, free, total;
  Bytes dead, missing;
  analyzer::OomCause cause = analyzer::OomCause::kNeeded;
  bool fits_without_dead = false, went_on = false;
  Actor by;

  std::optional<std::string_view> phase;
  std::int64_t index = 0;  ///< among the errors of the trace, from 1
  Bytes without_dead;      ///< allocated bytes without storages that were released and still held

  static constexpr std::string_view kShape = "out_of_memory";
  static void describe(auto&& field) {
    field("at", &OutOfMemory::at, "");
    field("step", &OutOfMemory::step, "");
    field("device", &OutOfMemory::device, "");
    field("requested_bytes", &OutOfMemory::requested, "CUDA: rounded as the allocator does");
    field("allocated_bytes", &OutOfMemory::allocated,
          "by torch's own count when it happened; CPU: of the blocks alive");
    field("reserved_bytes", &OutOfMemory::reserved, "by torch's own count");
    field("free_bytes", &OutOfMemory::free, "of the device, by CUDA");
    field("total_bytes", &OutOfMemory::total, "");
    field("dead_bytes", &OutOfMemory::dead, "released and still held, of those allocated");
    field("missing_bytes", &OutOfMemory::missing,
          "beyond what the device could give: so many would have had to be gone");
    field("cause", &OutOfMemory::cause, "\"held\", \"fragmented\", \"limited\", \"needed\"");
    field("fits_without_dead", &OutOfMemory::fits_without_dead, "the dead bytes are enough for those that are missing");
    field("went_on", &OutOfMemory::went_on, "the program caught the error");
    field("by", &OutOfMemory::by, "");
  }
};

/// Further facts about the first of several similar errors.
struct OutOfMemoryStory {
  std::optional<Groups> alive;         ///< by site; nullopt: rows of that part of the run were not kept
  Groups held;                         ///< of these, by holder, as far as it is known
  std::vector<std::int64_t> findings;  ///< findings about releases whose storages were held at the error
  std::optional<bool> all_went_on;     ///< nullopt: a memory snapshot does not say it
};

[[nodiscard]] std::vector<OutOfMemory> errors_of(const analyzer::Analysis& analysis, const analyzer::Finding& finding);
/// nullopt if the finding is not about out-of-memory errors.
[[nodiscard]] std::optional<OutOfMemoryStory> story_of_errors(const analyzer::Analysis& analysis,
                                                              const analyzer::Finding& finding);

}  // namespace dcmt::model
