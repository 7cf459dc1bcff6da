#include "analyzer/rules/remarks.h"

#include "trace/base/followed_bytes.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

std::string releases_of(const Remark& remark) {
  return counted(remark.count, "release") + " of " + counted(remark.parameters, "parameter");
}

/// "4.1 ms"
std::string milliseconds(TimeNs time) {
  const std::int64_t tenths = (time.value + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

std::string when_kept(std::int64_t steps, const std::string& round) {
  if (steps == 0) return " at the last reading of the memory, made after the first " + round;
  return " at the peak, made " +
         (steps == 1 ? "in the " + round + " before" : "up to " + counted(steps, round) + " before");
}

}  // namespace

std::string Remark::text() const {
  const std::string sum = rounded_bytes(bytes.value);
  switch (kind) {
    case RemarkKind::kPool:
      return "a pool of " + counted(count, "buffer") + " keeps " + sum + " by design: after " +
             counted(releases, "release") + " the buffer went to another gather, or waits for one";
    case RemarkKind::kStaysGathered:
      return counted(parameters, "parameter") + " (" + sum +
             ") stayed gathered after a forward without a backward of its own, as in an evaluation or after an "
             "exception: released in a backward only";
    case RemarkKind::kLate:
      return releases_of(*this) + " freed late: " + holder.value_or("") + " still held the storages, for up to " +
             milliseconds(longest) +
             (bytes.value > 0 ? "; " + sum + " of the peak is that" : "; none of it at the peak");
    case RemarkKind::kUsesLeft:
      return releases_of(*this) + " ended a cycle with uses left: the declared count is too high";
    case RemarkKind::kUntracked:
      return releases_of(*this) + " untracked: there was no room to follow the storages, so they are not judged";
    case RemarkKind::kFirstMissed:
      return releases_of(*this) + " not judged: the gather was not observed";
    case RemarkKind::kUnknown:
      return releases_of(*this) + " unknown: a death or a gather may be among the records that were lost";
    case RemarkKind::kKept:
      if (unnamed) {
        return holder.value_or("") + " holds " + sum + " from before the first step's end to the last one (" +
               counted(count, "storage") + (count == 1 ? ", from " : ", most from ") + place +
               "); no line that runs after the first step names it";
      }
      return holder.value_or("") + " held " + sum + when_kept(steps, by_calls ? "call" : "step") + " (" +
             counted(count, "storage") + (count == 1 ? ", from " : ", most from ") + place +
             "); whether anything reads it again is not known";
    case RemarkKind::kGrows:
      return "memory grows by " + rounded_bytes(per_step.value) + " a " + std::string(round) + ": " +
             counted(count, "storage") + ", " + sum + ", most made at " + place +
             (2 * searched >= count
                  ? "; a reading of all objects at the program's end found no variable, list, graph or cycle that "
                    "holds them: something outside of Python's objects does, such as a library in C or atexit"
              : seen == 0
                  ? "; the memory was not read while they were there, so who holds them is not known"
                  : "; no variable, list or graph was found that holds them. They may be garbage in cycles, which "
                    "Python's collector frees now and then: not judged");
    case RemarkKind::kGrowsUnfollowed:
      return "memory grows by " + rounded_bytes(per_step.value) + " a step in storages under " +
             rounded_bytes(kFollowedBytes) + ", " + sum +
             " in the steps that were judged. With dc-memtrace run --detail full the line that makes them is known; in "
             "a longer run what holds them, too";
    case RemarkKind::kStepsInTurn:
      return "a step is one optimizer's step here, not a turn of the loop: optimizers step in turn at " + place +
             ". A call of dc_memtrace.step() at the end of a turn makes turns the steps";
    case RemarkKind::kSetting:
      return place + " had no effect on this run: " + why;
  }
  return {};
}

}  // namespace dcmt::analyzer
