#include "analyzer/load/owners.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace dcmt::analyzer {
namespace {

template <class Row, class Key, class Projection>
const Row* find_in(const std::vector<Row>& rows, Key key, Projection projection) {
  const auto at = std::ranges::lower_bound(rows, key, {}, projection);
  return at != rows.end() && std::invoke(projection, *at) == key ? &*at : nullptr;
}

/// No recorder writes another number.
StringId text_id(std::int64_t value) {
  return value > 0 && value <= std::numeric_limits<std::int32_t>::max() ? StringId(static_cast<std::int32_t>(value))
                                                                        : StringId();
}

}  // namespace

Expected<Owners> Owners::load(Database& database) {
  Owners owners;
  bool known = false;
  DCMT_RETURN_IF_ERROR(each_row(database, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'held_in'",
                                [&](const Statement&) { known = true; }));
  if (!known) return owners;
  DCMT_RETURN_IF_ERROR(each_row(database, "SELECT id, from_seq, from_ns, to_ns, storages, owned FROM scan ORDER BY id",
                                [&](const Statement& row) {
                                  owners.scans.push_back({ScanId(row.integer(0)), Sequence(row.integer(1)),
                                                          TimeNs(row.integer(2)), TimeNs(row.integer(3)),
                                                          row.integer(4), row.integer(5)});
                                }));
  DCMT_RETURN_IF_ERROR(each_row(database, "SELECT id, path, place, type, entries, last_scan FROM container ORDER BY id",
                                [&](const Statement& row) {
                                  owners.containers.push_back({ContainerId(row.integer(0)), text_id(row.integer(1)),
                                                               text_id(row.integer(2)), text_id(row.integer(3)),
                                                               row.integer(4), ScanId(row.integer(5))});
                                }));
  DCMT_RETURN_IF_ERROR(each_row(
      database, "SELECT storage, position, path, place, last_scan, confirmed FROM owner ORDER BY storage, position, id",
      [&](const Statement& row) {
        owners.paths.push_back({StorageId(row.integer(0)), row.integer(1), text_id(row.integer(2)),
                                text_id(row.integer(3)), ScanId(row.integer(4)), row.integer(5) != 0});
      }));
  DCMT_RETURN_IF_ERROR(
      each_row(database, "SELECT storage, scan, otherwise FROM held ORDER BY storage", [&](const Statement& row) {
        owners.held.push_back({StorageId(row.integer(0)), ScanId(row.integer(1)), row.integer(2) != 0, {}});
      }));
  // A container that held it once, and did not in the latest scan, does not count.
  DCMT_RETURN_IF_ERROR(each_row(database,
                                "SELECT held.storage, held_in.container FROM held JOIN held_in"
                                " ON held_in.storage = held.storage AND held_in.scan = held.scan"
                                " ORDER BY held.storage, held_in.container",
                                [&](const Statement& row) {
                                  const auto held = std::ranges::lower_bound(owners.held, StorageId(row.integer(0)), {},
                                                                             &Held::storage);
                                  const ContainerId container(row.integer(1));
                                  if (held != owners.held.end() && owners.container(container) != nullptr) {
                                    held->containers.push_back(container);
                                  }
                                }));
  return owners;
}

const Held* Owners::of(StorageId storage) const { return find_in(held, storage, &Held::storage); }

const Container* Owners::container(ContainerId id) const { return find_in(containers, id, &Container::id); }

const OwnerPath* Owners::path_to(StorageId storage) const {
  for (auto at = std::ranges::lower_bound(paths, storage, {}, &OwnerPath::storage);
       at != paths.end() && at->storage == storage; ++at) {
    if (at->confirmed) return &*at;
  }
  return nullptr;
}

}  // namespace dcmt::analyzer
