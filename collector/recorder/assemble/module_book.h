// The torch.nn.Modules for which the program allocates: rows of the table `module`.
//
// A block belongs to the module whose call is the innermost one on its stack. While one of autograd's nodes runs, it
// belongs to the module that made the node: nodes are numbered on their thread in the order in which they are made.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class ModuleBook {
 public:
  explicit ModuleBook(Journal& journal) : journal_(journal) {}

  Status resume();

  Status module(const wire::ModuleRecord& record);
  /// The module to which a block of the current record's thread belongs; 0: none is known.
  [[nodiscard]] RowId current() const;
  /// The addresses of all modules that have rows.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;
  /// The row of the module at this address. A module that lives there after another one shares its row.
  Expected<RowId> row_of(std::uint64_t address);
  /// A reading has named the module. The first name stays, so that all readings use the same.
  Status named(std::uint64_t address, const std::string& name);

 private:
  struct Row {
    RowId id = 0;
    bool has_name = false;
  };
  /// From this number on, the thread's nodes are of the module.
  struct Nodes {
    std::uint64_t from = 0;
    RowId module = 0;
  };
  struct OfThread {
    RowId current = 0;
    std::vector<Nodes> nodes;  ///< ascending
  };
  [[nodiscard]] RowId of_node(std::uint64_t number) const;

  Journal& journal_;
  std::unordered_map<std::uint64_t, Row> rows_;  ///< by address
  std::unordered_map<std::uint32_t, OfThread> threads_;
};

}  // namespace dcmt::recorder
