#include "cli/remarks_text.h"

#include <fmt/format.h>

#include "cli/text.h"

namespace dcmt::cli {

using analyzer::Remark;
using analyzer::RemarkKind;

namespace {

std::string releases_of(const Remark& remark) {
  return counted(remark.count, "release") + " of " + counted(remark.parameters, "parameter");
}

}  // namespace

std::string remark_text(const Remark& remark) {
  switch (remark.kind) {
    case RemarkKind::kPool:
      return fmt::format(
          "a pool of {} keeps {} by design: after {} the buffer went to another gather, or waits for one",
          counted(remark.count, "buffer"), rounded_bytes(remark.bytes.value), counted(remark.releases, "release"));
    case RemarkKind::kStaysGathered:
      return fmt::format(
          "{} ({}) stayed gathered after a forward without a backward of its own, as in an evaluation or after an "
          "exception: released in a backward only",
          counted(remark.parameters, "parameter"), rounded_bytes(remark.bytes.value));
    case RemarkKind::kUsesLeft:
      return releases_of(remark) + " ended a cycle with uses left: the declared count is too high";
    case RemarkKind::kUntracked:
      return releases_of(remark) + " untracked: there was no room to follow the storages, so they are not judged";
    case RemarkKind::kFirstMissed:
      return releases_of(remark) + " not judged: the gather was not observed";
    case RemarkKind::kUnknown:
      return releases_of(remark) + " unknown: a death or a gather may be among the records that were lost";
  }
  return {};
}

}  // namespace dcmt::cli
