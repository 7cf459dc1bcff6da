#include "analyzer/generated/linted.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace dcmt::analyzer {

bool Linted::found() const { return storages() > 0 || disagreeing() > 0; }

std::int64_t Linted::storages() const {
  std::int64_t number = 0;
  for (const LintedFile& file : files) number += static_cast<std::int64_t>(file.storages.size());
  return number;
}

std::int64_t Linted::names() const {
  std::set<std::tuple<std::string, std::int64_t, std::string>> distinct;
  for (const LintedFile& file : files) {
    for (const UndeletedStorage& storage : file.storages) {
      for (const UndeletedName& name : storage.names) distinct.emplace(file.path, name.line, name.name);
    }
  }
  return static_cast<std::int64_t>(distinct.size());
}

std::int64_t Linted::disagreeing() const {
  return std::ranges::count_if(operators, [](const LintedOperator& one) { return !one.aliases.agrees(); });
}

}  // namespace dcmt::analyzer
