#include "collector/recorder/assemble/out_of_memory.h"

#include <algorithm>
#include <set>

#include "collector/agent/clock.h"
#include "trace/base/code_path.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/limits.h"

namespace dcmt::recorder {
namespace {

/// A job may search for the largest batch that fits: CPU seconds for the analyses of its errors.
constexpr double kMostSeconds = 5;
/// A damaged spool must not fill the disk.
constexpr std::int64_t kMostErrors = 10'000;
/// Places are computed for the stacks with the most bytes.
constexpr std::size_t kMostStacks = 300;

/// Zero means that there was no figure.
std::optional<std::int64_t> known(std::uint64_t bytes) {
  return bytes != 0 ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

template <class Group>
void sort_by_bytes(std::vector<Group>& groups) {
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
}

}  // namespace

Status OutOfMemory::apply(const wire::OutOfMemoryRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  const auto figures = {record.allocated, record.reserved, record.free, record.total};
  if (!device || record.requested > static_cast<std::uint64_t>(kLargest) ||
      std::any_of(figures.begin(), figures.end(), [](std::uint64_t bytes) { return bytes > kMostDeviceBytes; })) {
    return journal_.bad_record("an out-of-memory error");
  }
  if (++count_ > kMostErrors) return {};
  DCMT_ASSIGN_OR_RETURN(Place where, lifetimes_.place(record.stack));
  OutOfMemoryRow row;
  row.id = journal_.now.seq;
  row.gpu = device->gpu();
  row.requested = static_cast<std::int64_t>(record.requested);
  if (device->gpu()) {
    row.allocated = static_cast<std::int64_t>(record.allocated);
    row.reserved = static_cast<std::int64_t>(record.reserved);
  }
  if (record.total != 0) row.free = static_cast<std::int64_t>(record.free);
  row.total = known(record.total);
  row.where = where;
  row.ns = journal_.now.ns;
  DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
  journal_.rows.see_finding(FindingKind::kOutOfMemory, record.header.aux, 0);
  if (journal_.rows.keeps_only_living()) journal_.rows.keep_living(journal_.now);
  latest_thread_ = journal_.thread;
  went_on_ = false;
  const double before = agent::thread_cpu_seconds();
  if (spent_ > kMostSeconds) return {};
  DCMT_RETURN_IF_ERROR(analyse(row));
  spent_ += agent::thread_cpu_seconds() - before;
  return {};
}

Status OutOfMemory::analyse(const OutOfMemoryRow& row) {
  Pending error;
  error.thread = journal_.thread;
  OomFacts& facts = error.facts;
  facts.device = Device::from_row(row.gpu)->name();
  facts.number = count_;
  facts.figures = {row.requested, row.allocated, row.reserved, row.free};
  facts.total = row.total;
  DCMT_ASSIGN_OR_RETURN(std::string name, journal_.writer.text(operators_.running_name()));
  facts.operator_name = std::move(name);
  DCMT_ASSIGN_OR_RETURN(std::string place, places_.of(row.where.stack));
  facts.site = std::move(place);
  DCMT_RETURN_IF_ERROR(find_alive(Device::from_row(row.gpu), error));
  error.awaits_reading = journal_.rows.keeps_only_living();
  if (!error.awaits_reading && (error.held.empty() || operators_.running() == 0)) return complete(error);
  pending_.push_back(std::move(error));
  return {};
}

template <class IsReady>
Status OutOfMemory::complete_if(IsReady is_ready) {
  for (auto error = pending_.begin(); error != pending_.end();) {
    if (!is_ready(*error)) {
      ++error;
      continue;
    }
    DCMT_RETURN_IF_ERROR(complete(*error));
    error = pending_.erase(error);
  }
  return {};
}

Status OutOfMemory::operator_ended() {
  return complete_if([&](const Pending& error) { return error.thread == journal_.thread && !error.awaits_reading; });
}

Status OutOfMemory::request_answered() {
  return complete_if([](const Pending& error) { return error.awaits_reading; });
}

Status OutOfMemory::finish() {
  return complete_if([](const Pending&) { return true; });
}

Status OutOfMemory::killed() {
  if (count_ != 0 && !went_on_) return {};
  Pending end;
  end.facts.number = 0;
  DCMT_RETURN_IF_ERROR(find_alive(std::nullopt, end));
  return complete(end);
}

Status OutOfMemory::find_alive(const std::optional<Device>& device, Pending& error) {
  OomFacts& facts = error.facts;
  struct OfStack {
    OomGroup group;
    std::vector<std::pair<RowId, std::int64_t>> storages;
  };
  std::map<RowId, OfStack> by_stack;
  std::vector<OomGroup> small;
  std::map<RowId, std::int64_t> held_by_storage;
  const std::set<RowId> residual = marks_.residual_storages();
  facts.has_releases = marks_.has_releases();
  lifetimes_.each_block([&](const BlockRow& block) {
    if (device && block.gpu != device->gpu()) return;
    facts.alive += block.bytes;
    if (block.address == 0) return small.push_back({block.bytes, 0, kSmallBlocks});
    OfStack& stack = by_stack[block.birth.stack];
    stack.group.bytes += block.bytes;
    ++stack.group.blocks;
    // A storage that a reading has yet to find will have its block's number (Lifetimes::find_storage).
    stack.storages.emplace_back(block.storage != 0 ? block.storage : block.id, block.bytes);
    if (residual.contains(block.storage)) held_by_storage[block.storage] += block.bytes;
  });
  std::vector<StackBytes> stacks;
  for (const auto& [stack, part] : by_stack) stacks.push_back({stack, part.group.bytes});
  DCMT_ASSIGN_OR_RETURN(const auto names, places_.of_largest(std::move(stacks), kMostStacks, "other places"));
  std::map<std::string, OomGroup> by_site;
  for (const auto& [stack, part] : by_stack) {
    std::string name = names.at(stack);
    if (name.empty()) name = "no Python frame, or blocks too small to be followed";
    OomGroup& group = by_site[name];
    group.bytes += part.group.bytes;
    group.blocks += part.group.blocks;
    auto& storages = error.storages[name];
    storages.insert(storages.end(), part.storages.begin(), part.storages.end());
  }
  for (auto& [name, group] : by_site) {
    group.site = name;
    facts.groups.push_back(std::move(group));
  }
  facts.groups.insert(facts.groups.end(), small.begin(), small.end());
  sort_by_bytes(facts.groups);
  error.held.assign(held_by_storage.begin(), held_by_storage.end());
  return {};
}

Status OutOfMemory::name_holders(Pending& error) {
  const std::size_t shown = std::min(kMostGroups, error.facts.groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    OomGroup& group = error.facts.groups[i];
    std::map<OwnerBook::Named, std::int64_t> by_holder;
    for (const auto& [storage, bytes] : error.storages[group.site]) {
      DCMT_ASSIGN_OR_RETURN(const OwnerBook::Named holder, owners_.holder_of(storage));
      by_holder[holder] += bytes;
    }
    by_holder.erase(OwnerBook::Named{});
    const auto most = std::ranges::max_element(by_holder, {}, [](const auto& each) { return each.second; });
    if (most == by_holder.end()) continue;
    const auto& [named, bytes] = *most;
    scan::Holder holder;
    DCMT_ASSIGN_OR_RETURN(holder.path, journal_.writer.text(named.path));
    DCMT_ASSIGN_OR_RETURN(holder.place, journal_.writer.text(named.place));
    DCMT_ASSIGN_OR_RETURN(const std::string type, journal_.writer.text(named.type));
    group.holder = holder.readable();
    if (type == "graph") {
      group.holder += " [its graph]";
    } else if (named.entries > 0) {
      group.holder += " [" + type + " of " + std::to_string(named.entries) + "]";
    }
    group.held = bytes;
  }
  return {};
}

Status OutOfMemory::complete(Pending& error) {
  OomFacts& facts = error.facts;
  DCMT_RETURN_IF_ERROR(name_holders(error));
  std::map<std::pair<RowId, RowId>, OomHolder> by_function;
  for (const auto& [storage, bytes] : error.held) {
    facts.held += bytes;
    ++facts.held_storages;
    const std::vector<EdgeRow> names = censuses_.names_of(storage);
    const EdgeRow first = names.empty() ? EdgeRow{} : names.front();
    OomHolder& holder = by_function[{first.function, first.file}];
    holder.bytes += bytes;
    ++holder.storages;
    if (names.empty() || !holder.names.empty()) continue;
    DCMT_ASSIGN_OR_RETURN(std::string function, journal_.writer.text(first.function));
    holder.function = function.empty() ? "a frame" : std::move(function);
    for (const EdgeRow& name : names) {
      if (name.function != first.function || name.file != first.file) continue;
      DCMT_ASSIGN_OR_RETURN(std::string variable, journal_.writer.text(name.name));
      holder.names.push_back(variable.empty() ? "(evaluation stack)" : std::move(variable));
      if (!holder.place.empty() || !name.line) continue;
      DCMT_ASSIGN_OR_RETURN(std::string file, journal_.writer.text(name.file));
      DCMT_ASSIGN_OR_RETURN(std::string assignment, journal_.writer.text(name.assignment));
      holder.place = std::string(short_path(file)) + ":" + std::to_string(*name.line);
      holder.assignment = std::move(assignment);
      holder.kept_by_generated_code = !name.delete_line && is_compiler_output(file);
    }
  }
  for (auto& [function, holder] : by_function) facts.holders.push_back(std::move(holder));
  sort_by_bytes(facts.holders);
  seen_.push_back(std::move(facts));
  return {};
}

std::vector<OomFacts> OutOfMemory::drain() { return std::exchange(seen_, {}); }

}  // namespace dcmt::recorder
