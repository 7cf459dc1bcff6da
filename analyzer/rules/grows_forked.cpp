// Memory that forked children do not share with their parent: pages of the parent's objects, of which each child gets a
// copy when it counts references to them, and what the children add to a collection. Left out is what children have
// from their begin, and what no single collection explains.
#include <optional>
#include <utility>

#include "analyzer/growth/forked_growth.h"
#include "analyzer/rules/rules.h"

namespace dcmt::analyzer::rules {

std::vector<Finding> grows_forked(const TraceData& data, const Releases&) {
  std::optional<ForkedGrowth> growth = forked_growth(data);
  if (!growth) return {};
  Finding finding;
  finding.rule = "grows_forked";
  finding.title = growth->inherited ? "copied by children" : "grows in children";
  finding.bytes = Bytes(growth->each.value * growth->of.most);
  finding.confidence = growth->of.most == 1 ? Confidence::kCertain : Confidence::kPartial;
  finding.why =
      growth->inherited
          ? "a child counts references in the objects that it reads, and so it gets its own copy of their pages"
          : "each child adds entries to it, and hardly any is removed later";
  finding.fix = growth->inherited ? "keep the entries in one array of numpy, Arrow or torch, or use fewer children"
                                  : "remove what is no longer needed, give it a limit, or let the parent keep it";
  finding.forked = std::move(growth);
  return {std::move(finding)};
}

}  // namespace dcmt::analyzer::rules
