#include "collector/torch/operators/operator_table.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

std::vector<OperatorRow> load_operator_table() {
  std::vector<OperatorRow> table;
  const char* path = agent::operators_path();
  if (path == nullptr) return table;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    OperatorRow row;
    std::string role;
    std::getline(fields, row.pattern, '\t');
    std::getline(fields, role, '\t');
    std::getline(fields, row.graph, '\t');
    std::getline(fields, row.key, '\t');
    std::getline(fields, row.count, '\t');
    std::getline(fields, row.tensor, '\t');
    if (role == "gather")
      row.role = OperatorRole::kGather;
    else if (role == "wait")
      row.role = OperatorRole::kWait;
    else if (role == "persist")
      row.role = OperatorRole::kPersist;
    else if (role == "release")
      row.role = OperatorRole::kRelease;
    else if (role == "observe")
      row.role = OperatorRole::kObserve;
    else
      continue;
    table.push_back(row);
  }
  return table;
}

const OperatorRow* find_operator(const std::vector<OperatorRow>& table, const char* name) {
  for (const OperatorRow& row : table) {
    if (fnmatch(row.pattern.c_str(), name, 0) == 0) return &row;
  }
  return nullptr;
}

bool is_of_torch(std::string_view name) {
  constexpr std::string_view kNamespaces[] = {
#include "collector/torch/facts/torch_namespaces.inc"
  };
  static_assert(std::ranges::is_sorted(kNamespaces));
  return std::ranges::binary_search(kNamespaces, name.substr(0, name.find(':')));
}

}  // namespace dcmt::torch_provider
