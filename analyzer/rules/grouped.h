// Collects items into findings: similar items make one finding.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "analyzer/rules/finding.h"

namespace dcmt::analyzer::rules {

/// Thread-safety: none.
template <class Alike>
class Grouped {
 public:
  void add(const Alike& alike, FindingItem item) {
    const auto [group, fresh] = findings_.try_emplace(alike);
    if (fresh) order_.push_back(group);
    group->second.items.push_back(std::move(item));
  }
  /// Calls `complete(alike, finding)` for each finding, in the order of their first items, and moves the findings out.
  template <class Complete>
  [[nodiscard]] std::vector<Finding> extract(Complete&& complete) {
    std::vector<Finding> findings;
    for (const auto& group : order_) {
      complete(group->first, group->second);
      findings.push_back(std::move(group->second));
    }
    return findings;
  }

 private:
  std::map<Alike, Finding> findings_;
  std::vector<typename std::map<Alike, Finding>::iterator> order_;
};

}  // namespace dcmt::analyzer::rules
