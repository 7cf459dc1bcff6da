#include "collector/recorder/assemble/reading_needs.h"

#include <algorithm>
#include <string>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/code_stacks.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/module_book.h"
#include "collector/scan/memory/process_memory.h"

namespace dcmt::recorder {
namespace {

/// Memory without a holder in any reading that is worth a search: in bytes, and as a share of the allocated bytes.
constexpr std::int64_t kLeastUnfound = 1 << 20;
constexpr double kUnfoundShare = 0.05;
/// A collection of this size may become a finding; bytes.
constexpr std::uint64_t kLargeCollection = 1 << 20;

}  // namespace

void ReadingNeeds::steps_ended(std::int64_t steps) {
  if (steps == steps_) return;
  steps_ = steps;
  growth_.step_ended();
  small_blocks_ = {steps, lifetimes_.small_bytes()};
  step_ends_.ended(journal_.now.seq);
}

SmallBlocksThen ReadingNeeds::small_blocks() const {
  const bool steps_go_on = steps_ != 0 && !step_ends_.have_ceased(journal_.now.seq, steps_);
  return steps_go_on ? small_blocks_ : SmallBlocksThen{steps_, lifetimes_.small_bytes()};
}

BytesBySize ReadingNeeds::small_storages() const { return lifetimes_.small_storages(); }

void ReadingNeeds::size_is_followed(std::size_t size_class) { lifetimes_.size_is_followed(size_class); }

std::int64_t ReadingNeeds::smallest_followed() const { return lifetimes_.smallest_followed(); }

bool ReadingNeeds::keeps_anything() const {
  const auto [from, to] = step_ends_.outlived();
  const std::int64_t latest = step_ends_.latest();
  return growth_.growing().signs > 0 ||
         (latest != 0 && (lifetimes_.lives_since(from, to) || lifetimes_.lives_since(latest, journal_.now.seq)));
}

std::int64_t ReadingNeeds::settled_until() const { return std::max(owners_.read_until(), step_ends_.outlived().to); }

std::uint64_t ReadingNeeds::worth_search() const {
  const auto share = static_cast<std::int64_t>(kUnfoundShare * static_cast<double>(lifetimes_.allocated()));
  return static_cast<std::uint64_t>(std::max(kLeastUnfound, share));
}

scan::InQuestion ReadingNeeds::without_holder(bool has_ended) const {
  const std::int64_t until = has_ended ? journal_.now.seq : settled_until();
  const auto lacks_one = [&](RowId storage) { return storage <= until && !owners_.has_holder(storage); };
  scan::InQuestion in_question{{}, worth_search()};
  if (static_cast<std::uint64_t>(lifetimes_.bytes_where(lacks_one)) < in_question.least) return in_question;
  for (const auto& [address, storage] : lifetimes_.living_storages()) {
    if (lacks_one(storage)) in_question.storages.push_back(address);
  }
  std::ranges::sort(in_question.storages);
  return in_question;
}

std::vector<scan::Range> ReadingNeeds::data_of_storages() const {
  std::vector<scan::Range> data;
  lifetimes_.each_wide_block([&](std::uint64_t address, std::int64_t bytes) {
    data.push_back({address, address + static_cast<std::uint64_t>(bytes)});
  });
  return data;
}

bool ReadingNeeds::lacks_holders() const {
  const std::int64_t until = settled_until();
  const std::int64_t bytes =
      lifetimes_.bytes_where([&](RowId storage) { return storage <= until && !owners_.has_holder(storage); });
  return static_cast<std::uint64_t>(bytes) >= worth_search();
}

bool ReadingNeeds::wants_reading() const {
  const auto [from, to] = step_ends_.outlived();
  const std::int64_t until = growth_.growing().goes_on > 0 ? journal_.now.seq : to;
  return lifetimes_.lives_since(std::max(from, owners_.read_until()), until) || owners_.is_unsure_of(from, until);
}

std::vector<std::uint64_t> ReadingNeeds::modules() const { return modules_.addresses(); }

std::vector<scan::CppVariable> ReadingNeeds::cpp_variables(pid_t pid) {
  if (!code_stacks_.has_program()) return {};
  Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(pid);
  if (!memory.ok()) return {};  // it is ending
  return code_stacks_.variables(*memory);
}

std::shared_ptr<const scan::CppShapes> ReadingNeeds::cpp_shapes() { return code_stacks_.shapes(); }

void ReadingNeeds::begins(scan::Scope scope) { owners_.begin(scope, lifetimes_.living_storages()); }

Status ReadingNeeds::ended(const MemoryReading& reading) {
  const auto is_large = [](const scan::Collection& each) { return each.bytes >= kLargeCollection; };
  files_.insert(reading.found.files.begin(), reading.found.files.end());
  // The code has the statement that fills it.
  if (std::ranges::any_of(reading.found.collections, is_large)) DCMT_RETURN_IF_ERROR(censuses_.see_sources(files_));
  if (journal_.rows.keeps_only_living()) DCMT_RETURN_IF_ERROR(add_found_storages(reading));
  return owners_.end(reading);
}

Status ReadingNeeds::add_found_storages(const MemoryReading& reading) {
  journal_.rows.keep_living(journal_.now);
  for (const scan::HeldStorage& each : reading.found.storages) {
    DCMT_ASSIGN_OR_RETURN(const RowId row,
                          lifetimes_.find_storage(each.storage, each.data, each.bytes, owners_.began(reading.scope)));
    if (row != 0) owners_.lived(reading.scope, each.storage, row);
  }
  return {};
}

Status ReadingNeeds::too_large(std::size_t needs) {
  const std::string mib = std::to_string(needs >> 20);
  return journal_.diagnose("note",
                           "holders in C++ and containers of Python objects are not known: reading them needs " + mib +
                               " MiB, which would make the recorder too large");
}

Status ReadingNeeds::failed(std::string_view why) {
  owners_.cancel(scan::Scope::kAll);
  owners_.cancel(scan::Scope::kVariables);
  return journal_.diagnose("owners_off", why);
}

}  // namespace dcmt::recorder
