#include "render/wording/finding_title.h"

#include <cctype>

namespace dcmt::wording {

std::string finding_title(const ReportedFinding& finding) {
  if (finding.growth) return finding.growth->steps > 0 ? "GROWS" : "KEPT";
  return finding.outside ? "GROWS" : upper(finding.title);
}

}  // namespace dcmt::wording
