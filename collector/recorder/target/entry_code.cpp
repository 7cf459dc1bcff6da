#include "collector/recorder/target/entry_code.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collector/scan/process/elf_symbols.h"
#include "trace/arch/arch.h"

namespace dcmt::recorder {
namespace {

std::optional<std::uint64_t> find_restore(scan::ProcessMemory& memory) {
  for (const scan::Region& region : memory.regions()) {
    if (!region.executable || region.path.find("/libc.so.6") == std::string::npos) continue;
    std::vector<std::byte> code(region.end - region.begin);
    const std::array<scan::Piece, 1> all{{{region.begin, std::span(code)}}};
    code.resize(memory.read(all));
    const auto found = std::ranges::search(code, std::as_bytes(std::span(arch::kSignalReturn)));
    if (!found.empty()) return region.begin + static_cast<std::uint64_t>(found.begin() - code.begin());
  }
  return std::nullopt;
}

scan::CodeRange find_python_loop(const scan::ProcessMemory& memory) {
  constexpr const char* kLoop = "_PyEval_EvalFrameDefault";
  auto loop = scan::symbol_range(memory, "/libpython3", kLoop);
  if (!loop) loop = scan::symbol_range(memory, "/python3", kLoop);
  return loop.value_or(scan::CodeRange());
}

}  // namespace

bool has_python_loop(pid_t pid) {
  const Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(pid);
  return memory.ok() && !find_python_loop(*memory).empty();
}

Expected<EntryCode> find_entry_code(scan::ProcessMemory& memory) {
  // In a library of its own before glibc 2.34.
  auto load = scan::symbol_address(memory, "/libc.so.6", "dlopen");
  if (!load) load = scan::symbol_address(memory, "/libdl.so.2", "dlopen");
  const auto restore = find_restore(memory);
  if (!load || !restore) return Error{ErrorCode::kCannotRecord, "has no C library of GNU that can load libraries"};
  return EntryCode{*load, scan::symbol_address(memory, "/libc.so.6", "memfd_create").value_or(0),
                   scan::symbol_address(memory, "/libc.so.6", "close").value_or(0), find_python_loop(memory), *restore};
}

}  // namespace dcmt::recorder
