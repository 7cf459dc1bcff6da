#include "analyzer/rules/finding_identity.h"

namespace dcmt::analyzer {

bool same_finding(const FindingIdentity& a, const FindingIdentity& b) {
  const bool held_alike = !a.holder || !b.holder || a.holder == b.holder;
  return a.rule == b.rule && a.born == b.born && a.released == b.released && held_alike;
}

}  // namespace dcmt::analyzer
