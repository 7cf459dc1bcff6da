// The table of gather, wait, persist and release operators, which the recorder compiled from TOML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcmt::torch_provider {

enum class OperatorRole { kGather, kWait, kPersist, kRelease, kObserve };

/// A row of the table. Arguments have the names in the operator's schema; empty: there is none.
struct OperatorRow {
  std::string pattern;  ///< "namespace::name", * and ? match as in file names
  OperatorRole role;
  std::string graph;
  std::string key;
  std::string count;   ///< release: the declared count of uses
  std::string tensor;  ///< gather, wait: argument that is the storage's tensor; empty: the output
};

/// Reads the file named in the environment: lines of tab-separated fields in the order above. Empty if there is none.
std::vector<OperatorRow> load_operator_table();

/// The first row that matches, or nullptr. Earlier rows have priority.
const OperatorRow* find_operator(const std::vector<OperatorRow>& table, const char* name);

/// True if the operator's namespace is one of torch: its schema is trusted then.
bool is_of_torch(std::string_view name);

}  // namespace dcmt::torch_provider
