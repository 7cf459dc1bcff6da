#include "collector/recorder/assemble/module_book.h"

#include <algorithm>
#include <set>

#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

/// Limit of remembered changes for a thread. A graph whose forward is older is kept for longer than a round.
constexpr std::size_t kMostNodes = 1 << 16;

}  // namespace

Status ModuleBook::resume() {
  std::set<RowId> named;
  DCMT_RETURN_IF_ERROR(each_row_of<ModuleRow>(journal_.writer.database(), "", [&](const ModuleRow& row) {
    if (row.name != 0) named.insert(row.id);
  }));
  return journal_.state.each_id([&](WireIdKind kind, std::uint64_t wire, RowId id) {
    if (kind == WireIdKind::kModule) rows_[wire] = {id, named.contains(id)};
  });
}

Expected<RowId> ModuleBook::row_of(std::uint64_t address) {
  const auto [row, is_new] = rows_.try_emplace(address);
  if (is_new) {
    row->second.id = static_cast<RowId>(rows_.size());
    DCMT_RETURN_IF_ERROR(journal_.writer.write(ModuleRow{row->second.id, 0}));
    DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kModule, address, row->second.id));
  }
  return row->second.id;
}

Status ModuleBook::named(std::uint64_t address, const std::string& name) {
  DCMT_ASSIGN_OR_RETURN(const RowId id, row_of(address));
  Row& row = rows_[address];
  if (row.has_name || name.empty()) return {};
  row.has_name = true;
  DCMT_ASSIGN_OR_RETURN(const RowId text, journal_.writer.intern(name));
  return journal_.writer.write(ModuleRow{id, text});
}

RowId ModuleBook::of_node(std::uint64_t number) const {
  // On a GPU the engine runs a graph on a thread of its own, which makes no nodes itself.
  const OfThread* made = nullptr;
  if (const auto own = threads_.find(journal_.thread); own != threads_.end() && !own->second.nodes.empty()) {
    made = &own->second;
  } else {
    for (const auto& [thread, each] : threads_) {
      if (each.nodes.empty()) continue;
      if (made != nullptr) return 0;
      made = &each;
    }
  }
  if (made == nullptr) return 0;
  const auto after = std::ranges::upper_bound(made->nodes, number, {}, &Nodes::from);
  return after != made->nodes.begin() ? std::prev(after)->module : 0;
}

Status ModuleBook::module(const wire::ModuleRecord& record) {
  RowId row = 0;
  if (record.module != 0) {
    DCMT_ASSIGN_OR_RETURN(row, row_of(record.module));
  }
  OfThread& thread = threads_[journal_.thread];
  std::vector<Nodes>& nodes = thread.nodes;
  // What made the nodes since the last block did not allocate; and the engine's threads make no nodes.
  const bool ends_nodes = record.node == 0 || (!nodes.empty() && nodes.back().from < record.from_node);
  if (ends_nodes) {
    if (!nodes.empty() && nodes.back().from > record.from_node) nodes.clear();  // numbers begin anew
    if (!nodes.empty() && nodes.back().from == record.from_node) nodes.pop_back();
    nodes.push_back({record.from_node, row});
    if (nodes.size() > kMostNodes) nodes.erase(nodes.begin(), nodes.begin() + kMostNodes / 2);
  }
  thread.current = record.node != 0 ? of_node(record.node - 1) : row;
  return {};
}

RowId ModuleBook::current() const {
  const auto thread = threads_.find(journal_.thread);
  return thread != threads_.end() ? thread->second.current : 0;
}

std::vector<std::uint64_t> ModuleBook::addresses() const {
  std::vector<std::uint64_t> addresses;
  for (const auto& [address, row] : rows_) addresses.push_back(address);
  return addresses;
}

}  // namespace dcmt::recorder
