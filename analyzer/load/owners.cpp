#include "analyzer/load/owners.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "analyzer/load/table_reader.h"

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
  DCMT_RETURN_IF_ERROR(read_rows<Scan>(
      database, "ORDER BY id", [&](const Scan& scan) { owners.scans.push_back(scan); },
      column<&ScanRow::id, &Scan::id>(), column<&ScanRow::from_seq, &Scan::from>(),
      column<&ScanRow::from_ns, &Scan::ns>(), column<&ScanRow::everything, &Scan::everything>(),
      column<&ScanRow::importing, &Scan::importing>(), column<&ScanRow::ended, &Scan::ended>(),
      column<&ScanRow::counted_ns, &Scan::counted>(), column<&ScanRow::to_ns, &Scan::to>()));
  DCMT_RETURN_IF_ERROR(read_rows<Container>(
      database, "ORDER BY id", [&](const Container& container) { owners.containers.push_back(container); },
      column<&ContainerRow::id, &Container::id>(), column<&ContainerRow::path, &Container::path>(),
      column<&ContainerRow::place, &Container::place>(), column<&ContainerRow::type, &Container::type>(),
      column<&ContainerRow::small_bytes, &Container::small>(),
      column<&ContainerRow::small_scan, &Container::small_scan>()));
  DCMT_RETURN_IF_ERROR(read_rows<OwnerPath>(
      database, "ORDER BY storage, last_scan DESC, position, id",
      [&](const OwnerPath& path) { owners.paths.push_back(path); }, column<&OwnerRow::storage, &OwnerPath::storage>(),
      column<&OwnerRow::path, &OwnerPath::path>(), column<&OwnerRow::place, &OwnerPath::place>(),
      column<&OwnerRow::scan, &OwnerPath::scan>(), column<&OwnerRow::last_scan, &OwnerPath::last_scan>(),
      column<&OwnerRow::confirmed, &OwnerPath::confirmed>()));
  DCMT_RETURN_IF_ERROR(read_rows<Held>(
      database, "ORDER BY storage", [&](const Held& held) { owners.held.push_back(held); },
      column<&HeldRow::storage, &Held::storage>(), column<&HeldRow::scan, &Held::scan>(),
      column<&HeldRow::role>([](Held& held, NameText role) { held.role = known_role(role.text); }),
      column<&HeldRow::otherwise, &Held::otherwise>(), column<&HeldRow::module, &Held::module>()));
  DCMT_RETURN_IF_ERROR(read_rows<Module>(
      database, "ORDER BY id", [&](const Module& module) { owners.modules.push_back(module); },
      column<&ModuleRow::id, &Module::id>(), column<&ModuleRow::name, &Module::name>()));
  DCMT_RETURN_IF_ERROR(read_rows<FoundIn>(
      database, "ORDER BY storage, container",
      [&](const FoundIn& found) {
        if (owners.container(found.container) == nullptr) return;
        owners.found_in.push_back(found);
        // A container counts only if the latest scan found the storage in it.
        const auto held = std::ranges::lower_bound(owners.held, found.storage, {}, &Held::storage);
        const bool counts = held != owners.held.end() && held->storage == found.storage && held->scan == found.scan;
        if (counts) held->containers.push_back(found.container);
      },
      column<&HeldInRow::storage, &FoundIn::storage>(), column<&HeldInRow::container, &FoundIn::container>(),
      column<&HeldInRow::scan, &FoundIn::scan>()));
  DCMT_RETURN_IF_ERROR(read_rows<Collection>(
      database, "ORDER BY scan, position", [&](const Collection& each) { owners.collections.push_back(each); },
      column<&CollectionRow::scan, &Collection::scan>(), column<&CollectionRow::path, &Collection::path>(),
      column<&CollectionRow::place, &Collection::place>(), column<&CollectionRow::type, &Collection::type>(),
      column<&CollectionRow::alike, &Collection::alike>(), column<&CollectionRow::entries, &Collection::entries>(),
      column<&CollectionRow::own_bytes, &Collection::own>(), column<&CollectionRow::bytes, &Collection::bytes>(),
      column<&CollectionRow::entry_type, &Collection::entry_type>(),
      column<&CollectionRow::parts, &Collection::parts>()));
  return owners;
}

const Held* Owners::of(StorageId storage) const { return find_in(held, storage, &Held::storage); }

const Container* Owners::container(ContainerId id) const { return find_in(containers, id, &Container::id); }

const Module* Owners::module(ModuleId id) const { return find_in(modules, id, &Module::id); }

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
