#include "analyzer/model/remarks.h"

#include "trace/base/quantities.h"

namespace dcmt::model {
namespace {

using analyzer::RemarkKind;

std::string releases_of(const analyzer::Remark& remark) {
  return counted(remark.count, "release") + " of " + counted(remark.parameters, "parameter");
}

std::string when_kept(std::int64_t steps, const std::string& round) {
  if (steps == 0) return " at the last reading of the memory, made after the first " + round;
  return " at the peak, made " +
         (steps == 1 ? "in the " + round + " before" : "up to " + counted(steps, round) + " before");
}

std::string text_of(const analyzer::Remark& remark) {
  const std::string bytes = rounded_bytes(remark.bytes.value);
  switch (remark.kind) {
    case RemarkKind::kPool:
      return "a pool of " + counted(remark.count, "buffer") + " keeps " + bytes + " by design: after " +
             counted(remark.releases, "release") + " the buffer went to another gather, or waits for one";
    case RemarkKind::kStaysGathered:
      return counted(remark.parameters, "parameter") + " (" + bytes +
             ") stayed gathered after a forward without a backward of its own, as in an evaluation or after an "
             "exception: released in a backward only";
    case RemarkKind::kUsesLeft:
      return releases_of(remark) + " ended a cycle with uses left: the declared count is too high";
    case RemarkKind::kUntracked:
      return releases_of(remark) + " untracked: there was no room to follow the storages, so they are not judged";
    case RemarkKind::kFirstMissed:
      return releases_of(remark) + " not judged: the gather was not observed";
    case RemarkKind::kUnknown:
      return releases_of(remark) + " unknown: a death or a gather may be among the records that were lost";
    case RemarkKind::kKept:
      return remark.holder + " held " + bytes + when_kept(remark.steps, remark.by_calls ? "call" : "step") + " (" +
             counted(remark.count, "storage") + (remark.count == 1 ? ", from " : ", most from ") + remark.place +
             "); whether anything reads it again is not known";
    case RemarkKind::kGrows:
      return "memory grows by " + rounded_bytes(remark.per_step.value) +
             " a step: " + counted(remark.count, "storage") + ", " + bytes + ", most made at " + remark.place +
             (remark.seen == 0
                  ? "; the memory was not read while they were there, so who holds them is not known"
                  : "; no variable, list or graph was found that holds them. They may be garbage in cycles, which "
                    "Python's collector frees now and then: not judged");
  }
  return {};
}

}  // namespace

Remark remark_of(const analyzer::Remark& remark) {
  const std::optional<std::string> holder = remark.holder.empty() ? std::nullopt : std::optional(remark.holder);
  return {remark.kind, remark.count, remark.parameters, remark.releases, remark.bytes, holder, text_of(remark)};
}

}  // namespace dcmt::model
