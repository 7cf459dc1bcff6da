// Functions that were compiled into others, and variables of functions, by the debug information of an ELF file
// (.debug_info of DWARF 4 and 5).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/scan/process/elf_file.h"
#include "trace/base/byte_reader.h"

namespace dcmt::recorder {

/// A call of a function that was compiled into its caller.
struct InlinedCall {
  std::string function;    ///< mangled, or without its scope; empty: not known
  std::uint64_t unit = 0;  ///< offset of the unit's lines in .debug_line
  std::uint64_t file = 0;  ///< the caller's file: its number among the unit's
  std::int64_t line = 0;   ///< of the call
};

/// A variable that lies in the frame of its function, or a static one.
struct FrameVariable {
  std::string name;
  std::string function;     ///< of the function that was compiled into another one and has it; empty: the frame's own
  std::int64_t offset = 0;  ///< from the end of the frame; of a static variable: its address in the file
  std::uint64_t bytes = 0;  ///< 0: a pointer or a reference
  std::uint64_t type = 0;   ///< as of DebugInfo::type_at()
  std::size_t level = 0;    ///< of the function that has it: 0 has the frame, 1 was compiled into it, and so on
  bool is_argument = false;
  bool is_in_block = false;  ///< it may end before its function
  std::uint64_t unit = 0;    ///< as in InlinedCall; where it is declared
  std::uint64_t file = 0;
  std::int64_t line = 0;
};

/// A type, and what it is made of.
struct TypeEntry {
  /// kDeclared: a class that is defined elsewhere, as torch's classes with virtual functions are.
  enum class Is : std::uint8_t { kOther, kClass, kDeclared, kPointer, kReference, kArray, kSigned, kUnsigned };
  struct Member {
    std::string_view name;  ///< empty: a base
    std::uint64_t offset = 0;
    std::uint64_t type = 0;
    bool is_base = false;
  };
  Is is = Is::kOther;
  std::string_view name;
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;    ///< of the type itself: names for it, and const, are passed
  std::uint64_t type = 0;  ///< what a pointer points to, or an array has; 0: void, or not known
  std::vector<Member> members;
  std::vector<std::uint64_t> parameters;  ///< types that a template was given

  [[nodiscard]] const Member* member(std::string_view name_of_it) const;
  /// True if a base's name begins like this.
  [[nodiscard]] const Member* base(const class DebugInfo& info, std::string_view beginning) const;
};

/// Thread-safety: none. The file must outlive it.
class DebugInfo {
 public:
  explicit DebugInfo(const scan::ElfFile& file);

  /// The calls that lead from the function at an address in the file to what is at the address; innermost first.
  [[nodiscard]] std::vector<InlinedCall> inlined_at(scan::Address instruction);
  /// The variables that exist at an address in the file.
  [[nodiscard]] std::vector<FrameVariable> variables_at(scan::Address instruction);
  /// The static variables that have a place of their own; none of a file with much debug information.
  [[nodiscard]] std::vector<FrameVariable> statics();
  /// What std::function objects have: the address of the function that manages each type of it, and the type.
  [[nodiscard]] std::vector<std::pair<scan::Address, std::uint64_t>> functors();
  /// The type at an offset.
  [[nodiscard]] TypeEntry type_at(std::uint64_t offset) const;

 private:
  struct Attribute {
    std::uint64_t name, form;
    std::int64_t constant;
  };
  struct Shape {
    std::uint64_t tag = 0;
    bool has_children = false;
    std::vector<Attribute> attributes;
  };
  using Shapes = std::map<std::uint64_t, Shape>;
  struct Range {
    scan::Address begin = 0, end = 0;
    [[nodiscard]] bool has(scan::Address address) const { return address >= begin && address < end; }
  };
  /// An entry, with the attributes that matter here.
  struct Entry {
    std::uint64_t tag = 0;  ///< 0: the end of a list of children
    bool has_children = false;
    std::string_view name, linkage_name;
    std::uint64_t origin = 0;  ///< offset of the entry that has its name; 0: none
    std::uint64_t lines = 0;
    std::uint64_t call_file = 0;
    std::int64_t call_line = 0;
    std::optional<scan::Address> low;
    std::optional<std::uint64_t> high;
    bool high_is_length = false;
    std::optional<std::uint64_t> ranges;
    bool ranges_are_numbered = false;
    std::string_view place, frame_base;  ///< expressions
    std::uint64_t type = 0;              ///< offset of its entry
    std::uint64_t file = 0;              ///< of its declaration
    std::int64_t line = 0;
    std::uint64_t bytes = 0;
    std::uint64_t member_offset = 0;
    std::uint64_t encoding = 0;
    bool has_member_offset = false, is_declaration = false;
    bool ok = false;
  };
  struct Function {
    Range range;
    std::uint64_t children = 0;  ///< offset of its first child
    bool has_frame = false;      ///< its variables are given from the end of the frame
  };
  struct Unit {
    std::uint64_t begin = 0, end = 0, first = 0;  ///< offsets: of the unit, and of its first entry
    std::uint16_t version = 0;
    const Shapes* shapes = nullptr;
    std::uint64_t texts_base = 0, addresses_base = 0, ranges_base = 0, lines = 0;
    scan::Address low = 0;
    std::vector<Range> covers;  ///< empty: not stated
    bool is_indexed = false;
    std::vector<Function> functions;
    std::vector<FrameVariable> statics;
    std::vector<std::pair<scan::Address, std::uint64_t>> functors;
  };
  class Reading;

  const Shapes& shapes_at(std::uint64_t offset);
  [[nodiscard]] std::optional<Unit> unit_at(std::uint64_t offset);
  void index(Unit& unit);
  [[nodiscard]] std::vector<Range> ranges_of(const Entry& entry, const Unit& unit) const;
  [[nodiscard]] std::vector<Range> listed(std::uint64_t at, const Unit& unit) const;
  [[nodiscard]] std::vector<Range> listed_old(std::uint64_t at, const Unit& unit) const;
  [[nodiscard]] scan::Address address_number(std::uint64_t number, const Unit& unit) const;
  [[nodiscard]] Entry entry_at(const Unit& unit, ByteReader& reader) const;
  [[nodiscard]] std::string name_of(const Entry& entry, int depth = 0) const;
  [[nodiscard]] const Unit* unit_with(std::uint64_t offset) const;
  struct Found {
    std::vector<InlinedCall> calls;  ///< outermost first
    std::vector<FrameVariable> variables;
    bool is_in_block = false;
  };
  [[nodiscard]] std::pair<const Unit*, const Function*> function_at(scan::Address instruction);
  void descend(const Unit& unit, std::uint64_t from, scan::Address instruction, Found& found) const;
  [[nodiscard]] std::optional<FrameVariable> declared(const Unit& unit, const Entry& entry) const;
  void add_variable(const Unit& unit, const Entry& entry, Found& found) const;
  void add_members(const Unit& unit, const Entry& of, ByteReader& reader, TypeEntry& type) const;
  /// This part of all units; none of a file with much debug information.
  template <class Part>
  [[nodiscard]] std::vector<Part> of_all(std::vector<Part> Unit::*part);
  [[nodiscard]] ByteReader reader_at(std::uint64_t offset) const;

  std::string_view info_, shape_bytes_, texts_, line_texts_, text_offsets_, addresses_, range_lists_, old_ranges_;
  std::map<std::uint64_t, Shapes> shapes_;
  std::vector<Unit> units_;
};

}  // namespace dcmt::recorder
