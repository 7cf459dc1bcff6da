#include "analyzer/load/owners.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "analyzer/load/row_cursor.h"

namespace dcmt::analyzer {
namespace {

template <class Row, class Key, class Projection>
const Row* find_in(const std::vector<Row>& rows, Key key, Projection projection) {
  const auto at = std::ranges::lower_bound(rows, key, {}, projection);
  return at != rows.end() && std::invoke(projection, *at) == key ? &*at : nullptr;
}

/// Empty for a text that is not a role.
std::string known_role(std::string_view role) {
  return std::ranges::find(kRoles, role) != std::end(kRoles) ? std::string(role) : std::string();
}

}  // namespace

Expected<Owners> Owners::load(Database& database) {
  Owners owners;
  DCMT_ASSIGN_OR_RETURN(const bool known, has_table(database, "held_in"));
  if (!known) return owners;  // from schema 7
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, from_seq, from_ns FROM scan ORDER BY id", [&](Cursor& in) {
    Scan scan;
    scan.id = in.id<ScanId>();
    scan.from = in.id<Sequence>();
    scan.ns = in.id<TimeNs>();
    owners.scans.push_back(scan);
  }));
  DCMT_ASSIGN_OR_RETURN(const bool counts_small, has_column(database, "container", "small_bytes"));  // from schema 8
  const std::string container_rows = "SELECT id, path, place, type, " +
                                     std::string(counts_small ? "small_bytes, small_scan" : "NULL, NULL") +
                                     " FROM container ORDER BY id";
  DCMT_RETURN_IF_ERROR(read_rows(database, container_rows, [&](Cursor& in) {
    Container container;
    container.id = in.id<ContainerId>();
    container.path = in.id<StringId>();
    container.place = in.id<StringId>();
    container.type = in.id<StringId>();
    container.small = in.bytes();
    container.small_scan = in.id<ScanId>();
    owners.containers.push_back(container);
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database,
                                 "SELECT storage, path, place, scan, last_scan, confirmed FROM owner ORDER BY storage, "
                                 "last_scan DESC, position, id",
                                 [&](Cursor& in) {
                                   OwnerPath path;
                                   path.storage = in.id<StorageId>();
                                   path.path = in.id<StringId>();
                                   path.place = in.id<StringId>();
                                   path.scan = in.id<ScanId>();
                                   path.last_scan = in.id<ScanId>();
                                   path.confirmed = in.integer() != 0;
                                   owners.paths.push_back(path);
                                 }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT storage, scan, role, otherwise FROM held ORDER BY storage", [&](Cursor& in) {
        Held held;
        held.storage = in.id<StorageId>();
        held.scan = in.id<ScanId>();
        held.role = known_role(in.name());
        held.otherwise = in.integer() != 0;
        owners.held.push_back(std::move(held));
      }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT storage, container, scan FROM held_in ORDER BY storage, container", [&](Cursor& in) {
        FoundIn found;
        found.storage = in.id<StorageId>();
        found.container = in.id<ContainerId>();
        found.scan = in.id<ScanId>();
        if (owners.container(found.container) == nullptr) return;
        owners.found_in.push_back(found);
        // A container counts only if the latest scan found the storage in it.
        const auto held = std::ranges::lower_bound(owners.held, found.storage, {}, &Held::storage);
        const bool counts = held != owners.held.end() && held->storage == found.storage && held->scan == found.scan;
        if (counts) held->containers.push_back(found.container);
      }));
  return owners;
}

const Held* Owners::of(StorageId storage) const { return find_in(held, storage, &Held::storage); }

const Container* Owners::container(ContainerId id) const { return find_in(containers, id, &Container::id); }

const Scan* Owners::scan(ScanId id) const { return find_in(scans, id, &Scan::id); }

std::span<const OwnerPath> Owners::paths_to(StorageId storage) const {
  const auto found = std::ranges::equal_range(paths, storage, {}, &OwnerPath::storage);
  return {found.begin(), found.end()};
}

std::span<const FoundIn> Owners::where_found(StorageId storage) const {
  const auto found = std::ranges::equal_range(found_in, storage, {}, &FoundIn::storage);
  return {found.begin(), found.end()};
}

const OwnerPath* Owners::path_to(StorageId storage) const {
  const std::span<const OwnerPath> to = paths_to(storage);
  const auto confirmed = std::ranges::find_if(to, &OwnerPath::confirmed);
  if (confirmed == to.end()) return nullptr;
  // A later scan may have found no root for a path; that is not proof. But no variable of an earlier scan holds it
  // then.
  return confirmed->last_scan == to.front().last_scan || to.front().confirmed ? &*confirmed : nullptr;
}

}  // namespace dcmt::analyzer
