#include "analyzer/releases/releases.h"

namespace dcmt::analyzer {

std::vector<const ReleaseRow*> Releases::residual() const {
  std::vector<const ReleaseRow*> found;
  for (const ReleaseRow& row : rows) {
    if (row.residual) found.push_back(&row);
  }
  return found;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFreed:
      return "freed";
    case Verdict::kLate:
      return "late";
    case Verdict::kNever:
      return "never";
    case Verdict::kEarly:
      return "early";
    case Verdict::kCounted:
      return "counted";
    case Verdict::kPersistent:
      return "persistent";
    case Verdict::kNoGather:
      return "no_gather";
    case Verdict::kShared:
      return "shared";
    case Verdict::kRecycled:
      return "recycled";
    case Verdict::kUntracked:
      return "untracked";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "";
}

}  // namespace dcmt::analyzer
