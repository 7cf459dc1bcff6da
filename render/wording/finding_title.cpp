#include "render/wording/finding_title.h"

#include <algorithm>
#include <cctype>

namespace dcmt::wording {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

std::string finding_title(const model::ReportedFinding& finding) {
  if (finding.growth) return finding.growth->rounds > 0 ? "GROWS" : "KEPT";
  return finding.outside || finding.objects ? "GROWS" : upper(finding.title);
}

}  // namespace dcmt::wording
