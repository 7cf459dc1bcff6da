#include "collector/recorder/assemble/owner_book.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// From one reading, this many storages get rows, the largest first: small ones must not make a trace grow.
constexpr std::size_t kMostStorages = 20'000;

}  // namespace

void OwnerBook::begin(scan::Scope scope, std::unordered_map<std::uint64_t, RowId> alive) {
  pending(scope) = {true, journal_.now.seq, std::move(alive), {}, {}};
}

void OwnerBook::storage_ended(RowId storage) {
  results_.erase(storage);
  for (PendingScan& reading : pending_) {
    if (reading.reads) reading.ended.emplace(storage, journal_.now.ns);
  }
}

bool OwnerBook::has_holder(RowId storage) const {
  const auto first = current_.lower_bound({storage, 0});
  return first != current_.end() && first->first.first == storage;
}

Expected<OwnerBook::Named> OwnerBook::holder_of(RowId storage) const {
  Named named;
  std::int64_t best = 0;
  for (auto each = current_.lower_bound({storage, 0}); each != current_.end() && each->first.first == storage; ++each) {
    if (named.path != 0 && each->second.position >= best) continue;
    best = each->second.position;
    named = {each->second.path, each->second.place};
  }
  const auto result = results_.find(storage);
  if (result == results_.end()) return named;
  DCMT_ASSIGN_OR_RETURN(const std::string path, journal_.writer.text(named.path));
  std::size_t longest = 0;
  for (const auto& [text, row] : containers_) {
    if (!result->second.containers.contains(row.id)) continue;
    DCMT_ASSIGN_OR_RETURN(const std::string container, journal_.writer.text(text));
    if (container.size() <= longest || (!path.empty() && !path.starts_with(container))) continue;
    longest = container.size();
    named = {row.path, row.place, row.type, row.entries};
  }
  return named;
}

bool OwnerBook::is_unsure_of(std::int64_t from, std::int64_t to) const {
  return std::ranges::any_of(unrooted_, [&](const auto& each) {
    // A storage's id is the number of the record with which it began.
    return each.first > from && each.first <= to && !current_.contains(each);
  });
}

RowId OwnerBook::PendingScan::row_of(std::uint64_t address, std::int64_t until_ns) const {
  const auto row = alive.find(address);
  if (row == alive.end()) return 0;
  const auto end = ended.find(row->second);
  return end == ended.end() || end->second > until_ns ? row->second : 0;
}

Status OwnerBook::write_owner(RowId storage, std::int64_t position, const scan::Holder& holder, bool waited) {
  DCMT_ASSIGN_OR_RETURN(const RowId path, journal_.writer.intern(holder.path));
  OwnerRow row;
  row.storage = storage;
  row.path = path;
  row.position = position;
  // Two readings must find that no root leads to it, unless nothing could change during this one.
  row.confirmed = holder.confirmed && (holder.rooted || waited || unrooted_.contains({storage, path}));
  if (!holder.rooted) found_unrooted_.emplace(storage, path);
  row.scan = row.last_scan = scan_;
  DCMT_ASSIGN_OR_RETURN(row.place, journal_.writer.intern_or_null(holder.place));
  const auto before = current_.find({storage, path});
  const bool goes_on = before != current_.end() && row.confirmed;
  row.id = goes_on ? before->second.id : next_owner_++;
  if (goes_on) row.scan = before->second.scan;
  if (row.confirmed) current_[{storage, path}] = row;
  return journal_.writer.write(row);
}

std::vector<std::int64_t> OwnerBook::bytes_without_rows(const MemoryReading& reading) {
  const PendingScan& begun = pending(reading.scope);
  std::vector<std::int64_t> bytes;
  for (const scan::CommonContainer& each : reading.found.containers)
    bytes.push_back(static_cast<std::int64_t>(each.small_bytes));
  for (const scan::HeldStorage& held : reading.found.storages) {
    const auto size = static_cast<std::int64_t>(held.bytes);
    if (size >= kFollowedBytes || held.otherwise || held.containers.size() != 1) continue;
    if (!begun.alive.contains(held.storage)) bytes[held.containers.front()] += size;
  }
  return bytes;
}

Expected<std::vector<RowId>> OwnerBook::write_containers(const MemoryReading& reading) {
  std::vector<RowId> rows;
  const std::vector<std::int64_t> without_rows = bytes_without_rows(reading);
  for (const scan::CommonContainer& each : reading.found.containers) {
    DCMT_ASSIGN_OR_RETURN(const RowId path, journal_.writer.intern(each.path));
    ContainerRow& row = containers_[path];
    if (row.id == 0) {
      row.id = static_cast<RowId>(containers_.size());
      row.path = path;
      row.scan = scan_;
    }
    DCMT_ASSIGN_OR_RETURN(row.type, journal_.writer.intern(each.type));
    if (!each.place.empty()) {
      DCMT_ASSIGN_OR_RETURN(row.place, journal_.writer.intern(each.place));
    }
    row.entries = static_cast<std::int64_t>(each.entries);
    row.last_scan = scan_;
    // A reading of variables misses references, so it may count too little as held by the container alone.
    const std::int64_t small = without_rows[rows.size()];
    if (reading.scope == scan::Scope::kAll || small >= row.small_bytes) {
      row.small_bytes = small;
      row.small_scan = scan_;
    }
    DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
    rows.push_back(row.id);
  }
  return rows;
}

bool OwnerBook::is_weaker(const HoldingResult& result, const HoldingResult& than) {
  return result.is_unexplained && !than.otherwise && std::ranges::includes(than.containers, result.containers);
}

Status OwnerBook::write_held(RowId storage, const scan::HeldStorage& held, HoldingResult result) {
  // The objects of a cycle have no role: what was a parameter before its model's function returned is one still.
  const auto before = results_.find(storage);
  const bool is_in_cycle = !held.holders.empty() && std::ranges::none_of(held.holders, &scan::Holder::rooted);
  result.role =
      held.role == scan::Role::kNone && is_in_cycle && before != results_.end() ? before->second.role : held.role;
  HeldRow row{storage, scan_, name_of(result.role), result.otherwise};
  if (held.module != 0) {
    DCMT_ASSIGN_OR_RETURN(row.module, modules_.row_of(held.module));
  }
  DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
  for (const RowId container : result.containers) {
    DCMT_RETURN_IF_ERROR(journal_.writer.write(HeldInRow{storage, container, scan_}));
  }
  results_[storage] = std::move(result);
  return {};
}

Status OwnerBook::write_owners(RowId storage, const scan::HeldStorage& held, bool waited) {
  std::int64_t position = 0;
  for (const scan::Holder& holder : held.holders)
    DCMT_RETURN_IF_ERROR(write_owner(storage, position++, holder, waited));
  return {};
}

Status OwnerBook::write_arrays(const std::vector<scan::HeldArrays>& arrays) {
  ArrayHolderRow row;
  row.scan = scan_;
  for (const scan::HeldArrays& each : arrays) {
    DCMT_ASSIGN_OR_RETURN(row.path, journal_.writer.intern(each.path));
    DCMT_ASSIGN_OR_RETURN(row.type, journal_.writer.intern(each.type));
    DCMT_ASSIGN_OR_RETURN(row.place, journal_.writer.intern_or_null(each.place));
    row.arrays = static_cast<std::int64_t>(each.arrays);
    row.bytes = static_cast<std::int64_t>(each.bytes);
    DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
    ++row.position;
  }
  return {};
}

Status OwnerBook::write_collections(const std::vector<scan::Collection>& collections) {
  CollectionRow row;
  row.scan = scan_;
  for (const scan::Collection& each : collections) {
    DCMT_ASSIGN_OR_RETURN(row.path, journal_.writer.intern_or_null(each.path));
    DCMT_ASSIGN_OR_RETURN(row.type, journal_.writer.intern_or_null(each.type));
    DCMT_ASSIGN_OR_RETURN(row.place, journal_.writer.intern_or_null(each.place));
    DCMT_ASSIGN_OR_RETURN(row.entry_type, journal_.writer.intern_or_null(each.entry_type));
    DCMT_ASSIGN_OR_RETURN(row.parts, journal_.writer.intern_or_null(each.parts));
    row.alike = static_cast<std::int64_t>(each.alike);
    row.entries = static_cast<std::int64_t>(each.entries);
    row.own_bytes = static_cast<std::int64_t>(each.own_bytes);
    row.bytes = static_cast<std::int64_t>(each.bytes);
    DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
    ++row.position;
  }
  return {};
}

void OwnerBook::note_newer(const PendingScan& begun, RowId storage) {
  for (PendingScan& other : pending_) {
    if (&other != &begun && other.reads && other.from_seq <= begun.from_seq) other.seen_since.insert(storage);
  }
}

Status OwnerBook::end(const MemoryReading& reading) {
  ++scan_;
  const PendingScan& begun = pending(reading.scope);
  ScanRow scan;
  scan.id = scan_;
  scan.from_seq = begun.from_seq;
  scan.from_ns = reading.from_ns;
  scan.to_ns = reading.to_ns;
  scan.objects = static_cast<std::int64_t>(reading.found.objects);
  scan.torn = static_cast<std::int64_t>(reading.found.torn);
  scan.collecting = reading.found.collecting;
  scan.everything = reading.scope == scan::Scope::kAll;
  scan.importing = reading.found.importing;
  scan.ended = reading.ended;
  scan.counted_ns = reading.counted_ns;

  std::vector<std::pair<RowId, const scan::HeldStorage*>> known;
  for (const scan::HeldStorage& held : reading.found.storages) {
    const RowId row = begun.row_of(held.storage, reading.to_ns);
    if (row == 0) continue;
    ++scan.storages;
    const bool owned = std::ranges::any_of(held.holders, &scan::Holder::confirmed);
    if (owned) ++scan.owned;
    known.emplace_back(row, &held);
  }
  std::ranges::stable_sort(known, std::greater(), [](const auto& each) { return each.second->bytes; });
  if (known.size() > kMostStorages) known.resize(kMostStorages);
  DCMT_ASSIGN_OR_RETURN(const std::vector<RowId> containers, write_containers(reading));
  for (const scan::NamedModule& each : reading.found.modules) {
    DCMT_RETURN_IF_ERROR(modules_.named(each.address, each.name));
  }
  std::set<RowId> unproved;
  for (const auto& [row, held] : known) {
    // A process that ends or writes while it is read: the reading proves nothing about what an earlier one has proved.
    const auto is_unproved = [](const scan::Holder& holder) { return holder.rooted && !holder.confirmed; };
    if (std::ranges::all_of(held->holders, is_unproved) && has_holder(row)) {
      unproved.insert(row);
      continue;
    }
    HoldingResult result{{}, held->otherwise, held->is_unexplained};
    for (const std::uint32_t container : held->containers) result.containers.insert(containers[container]);
    const auto before = results_.find(row);
    if (begun.seen_since.contains(row)) {
      const bool says_more = before != results_.end() && is_weaker(before->second, result);
      if (says_more) DCMT_RETURN_IF_ERROR(write_held(row, *held, std::move(result)));
      continue;
    }
    note_newer(begun, row);
    const bool says_more = before == results_.end() || !is_weaker(result, before->second);
    // What was explained before and is in the same containers is still there, and explained.
    if (!says_more && result.containers == before->second.containers) result = before->second;
    if (says_more || !result.is_unexplained) DCMT_RETURN_IF_ERROR(write_held(row, *held, std::move(result)));
    DCMT_RETURN_IF_ERROR(write_owners(row, *held, reading.waited));
  }
  // An object that a reading of variables did not find may still exist.
  if (reading.scope == scan::Scope::kAll) {
    unrooted_ = std::exchange(found_unrooted_, {});
    std::erase_if(current_, [&](const auto& each) {
      const RowId storage = each.first.first;
      return each.second.last_scan != scan_ && !begun.seen_since.contains(storage) && !unproved.contains(storage);
    });
    read_until_ = begun.from_seq;
  }
  cancel(reading.scope);
  DCMT_RETURN_IF_ERROR(write_arrays(reading.found.arrays));
  DCMT_RETURN_IF_ERROR(write_collections(reading.found.collections));
  return journal_.writer.write(scan);
}

}  // namespace dcmt::recorder
