// The loaded objects of code, and where each has its unwinding information.
#pragma once

#include <cstdint>
#include <string_view>

namespace dcmt::agent {

struct CodeObject {
  std::uint64_t base;                      ///< what is added to the addresses in its file
  std::uint64_t begin, end;                ///< addresses
  std::uint64_t index;                     ///< address of its index of unwinding information (.eh_frame_hdr); 0: none
  std::uint64_t tables_begin, tables_end;  ///< the segment of the index
  std::uint64_t path;                      ///< string id
  bool is_program;  ///< of the program itself: its executable, and libraries linked with torch that are not torch's
  bool is_ours;

  /// The content from `address` on; empty outside of the tables.
  [[nodiscard]] std::string_view tables_at(std::uint64_t address) const noexcept {
    if (address < tables_begin || address >= tables_end) return {};
    return {reinterpret_cast<const char*>(address), tables_end - address};
  }
};

/// Finds the objects that are loaded. False if there is no memory for the list.
bool begin_code_objects() noexcept;
void forget_code_objects() noexcept;
/// Finds the objects that were loaded since. Takes the loader's lock. Does nothing before begin_code_objects(), and
/// after forget_code_objects().
void find_code_objects() noexcept;
/// The object at an address; nullptr: none is known. Any thread may call it.
const CodeObject* code_object_at(std::uint64_t address) noexcept;
/// Changes when an object has taken the place of another one: what was found out about addresses is no longer valid.
std::uint64_t code_epoch() noexcept;

}  // namespace dcmt::agent
