// Functions and variables: what a program's code has at an instruction, and what it has for good.
#include <algorithm>
#include <utility>

#include "collector/recorder/unwind/debug_info.h"
#include "collector/recorder/unwind/dwarf_numbers.h"

namespace dcmt::recorder {

using scan::Address;

namespace {

/// Limit for a search of all of it.
constexpr std::size_t kMostSearched = std::size_t{32} << 20;

}  // namespace

void DebugInfo::index(Unit& unit) {
  if (std::exchange(unit.is_indexed, true)) return;
  ByteReader reader = reader_at(unit.first);
  std::vector<std::uint64_t> handlers;             // classes around the entry that are one; 0: another one
  std::map<std::uint64_t, std::uint64_t> managed;  // functors by the declaration of the function
  while (reader.ok() && reader.at() < unit.end) {
    const std::uint64_t at = reader.at();
    const Entry entry = entry_at(unit, reader);
    if (!entry.ok) break;
    const bool is_class = entry.tag == dwarf::kClassTag || entry.tag == dwarf::kStructTag;
    const bool is_manager = entry.tag == dwarf::kFunctionTag && entry.name == "_M_manager" && !handlers.empty();
    if (is_manager && handlers.back() != 0) {
      if (const TypeEntry handler = type_at(handlers.back()); handler.parameters.size() == 2)
        managed[at] = handler.parameters[1];
    }
    if (const auto declared = managed.find(entry.origin);
        entry.tag == dwarf::kFunctionTag && declared != managed.end()) {
      for (const Range& range : ranges_of(entry, unit)) unit.functors.emplace_back(range.begin, declared->second);
    }
    if (entry.tag == 0 && !handlers.empty()) handlers.pop_back();
    if (entry.tag != 0 && entry.has_children)
      handlers.push_back(is_class && entry.name.starts_with("_Function_handler<") ? at : 0);
    if (entry.tag == dwarf::kVariableTag && !entry.place.empty()) {
      ByteReader place(entry.place);
      const bool is_at_address = place.byte() == dwarf::kAtAddress;
      const auto address = place.fixed<Address>();
      std::optional<FrameVariable> variable;
      if (is_at_address && place.ok() && place.at_end()) variable = declared(unit, entry);
      if (variable) {
        variable->offset = static_cast<std::int64_t>(address);
        unit.statics.push_back(*std::move(variable));
      }
    }
    if (entry.tag != dwarf::kFunctionTag || !entry.has_children) continue;
    const bool has_frame =
        entry.frame_base.size() == 1 && static_cast<std::uint8_t>(entry.frame_base[0]) == dwarf::kFrameEnd;
    for (const Range& range : ranges_of(entry, unit)) unit.functions.push_back({range, reader.at(), has_frame});
  }
}

std::string DebugInfo::name_of(const Entry& entry, int depth) const {
  constexpr int kDeepest = 8;
  if (!entry.linkage_name.empty()) return std::string(entry.linkage_name);
  const Unit* const unit = entry.origin != 0 && depth < kDeepest ? unit_with(entry.origin) : nullptr;
  if (unit == nullptr) return std::string(entry.name);
  ByteReader reader = reader_at(entry.origin);
  const Entry origin = entry_at(*unit, reader);
  std::string name = origin.ok ? name_of(origin, depth + 1) : std::string();
  return name.empty() ? std::string(entry.name) : name;
}

/// A variable with what its declaration says, which may be another entry.
std::optional<FrameVariable> DebugInfo::declared(const Unit& unit, const Entry& entry) const {
  FrameVariable variable;
  Entry declaration = entry;
  const Unit* declaring = &unit;
  if (const Unit* other = entry.origin != 0 ? unit_with(entry.origin) : nullptr; other != nullptr) {
    ByteReader reader = reader_at(entry.origin);
    declaration = entry_at(*other, reader);
    declaring = other;
  }
  const TypeEntry type = type_at(entry.type != 0 ? entry.type : declaration.type);
  const bool refers = type.is == TypeEntry::Is::kPointer || type.is == TypeEntry::Is::kReference;
  const bool is_declared = type.is == TypeEntry::Is::kDeclared;  // defined elsewhere, with a size that is not known
  const bool is_object = type.is == TypeEntry::Is::kClass || type.is == TypeEntry::Is::kArray || is_declared;
  if ((!refers && !is_object) || (is_object && !is_declared && type.bytes == 0) || declaration.name.empty())
    return std::nullopt;
  variable.bytes = is_object ? type.bytes : 0;
  variable.type = type.at;
  variable.name = declaration.name;
  variable.unit = declaring->lines;
  variable.file = declaration.file;
  variable.line = declaration.line;
  variable.is_argument = entry.tag == dwarf::kArgumentTag;
  return variable;
}

void DebugInfo::add_variable(const Unit& unit, const Entry& entry, Found& found) const {
  ByteReader place(entry.place);
  if (entry.place.empty() || place.byte() != dwarf::kFromBase) return;
  const std::int64_t offset = place.sleb();
  if (!place.ok() || !place.at_end()) return;
  std::optional<FrameVariable> variable = declared(unit, entry);
  if (!variable) return;
  variable->offset = offset;
  variable->level = found.calls.size();
  variable->is_in_block = found.is_in_block;
  if (!found.calls.empty()) variable->function = found.calls.back().function;
  found.variables.push_back(*std::move(variable));
}

/// Follows the children from an offset on down to what is at the instruction.
void DebugInfo::descend(const Unit& unit, std::uint64_t from, Address instruction, Found& found) const {
  ByteReader reader = reader_at(from);
  for (int depth = 1; depth > 0 && reader.ok() && reader.at() < unit.end;) {
    const Entry entry = entry_at(unit, reader);
    if (!entry.ok) return;
    if (entry.tag == 0) --depth;
    if (depth == 1 && (entry.tag == dwarf::kVariableTag || entry.tag == dwarf::kArgumentTag))
      add_variable(unit, entry, found);
    if (depth == 1 && (entry.tag == dwarf::kInlinedTag || entry.tag == dwarf::kBlockTag)) {
      const std::vector<Range> ranges = ranges_of(entry, unit);
      const bool is_here = std::ranges::any_of(ranges, [&](const Range& range) { return range.has(instruction); });
      if (is_here && entry.tag == dwarf::kInlinedTag) {
        found.calls.push_back({name_of(entry), unit.lines, entry.call_file, entry.call_line});
      }
      if (is_here && !entry.has_children) return;
      found.is_in_block |= is_here;
      if (is_here) continue;  // its children come next, and are followed from here on
    }
    if (entry.tag != 0 && entry.has_children) ++depth;
  }
}

std::pair<const DebugInfo::Unit*, const DebugInfo::Function*> DebugInfo::function_at(Address instruction) {
  const auto covers = [&](const Range& range) { return range.has(instruction); };
  for (Unit& unit : units_) {
    if (std::ranges::none_of(unit.covers, covers)) continue;
    index(unit);
    const auto function = std::ranges::find_if(unit.functions, covers, &Function::range);
    if (function != unit.functions.end()) return {&unit, &*function};
  }
  return {};
}

std::vector<InlinedCall> DebugInfo::inlined_at(Address instruction) {
  Found found;
  if (const auto [unit, function] = function_at(instruction); function != nullptr) {
    descend(*unit, function->children, instruction, found);
  }
  std::ranges::reverse(found.calls);
  return found.calls;
}

std::vector<FrameVariable> DebugInfo::variables_at(Address instruction) {
  Found found;
  if (const auto [unit, function] = function_at(instruction); function != nullptr && function->has_frame) {
    descend(*unit, function->children, instruction, found);
  }
  return found.variables;
}

template <class Part>
std::vector<Part> DebugInfo::of_all(std::vector<Part> Unit::*part) {
  std::vector<Part> all;
  if (info_.size() > kMostSearched) return all;
  for (Unit& unit : units_) {
    index(unit);
    all.insert(all.end(), (unit.*part).begin(), (unit.*part).end());
  }
  return all;
}

std::vector<std::pair<Address, std::uint64_t>> DebugInfo::functors() { return of_all(&Unit::functors); }

std::vector<FrameVariable> DebugInfo::statics() { return of_all(&Unit::statics); }

}  // namespace dcmt::recorder
