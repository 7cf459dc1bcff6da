#include "collector/recorder/target/current_environment.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/process/elf_symbols.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostVariables = 4096;
constexpr std::size_t kLongestSetting = 1024;

template <class T>
bool read_at(scan::ProcessMemory& memory, scan::Address address, T& into) {
  const scan::Piece piece{address, std::as_writable_bytes(std::span(&into, 1))};
  return memory.read(std::span(&piece, 1)) == sizeof into;
}

/// Reads a variable as far as there is room, or to the end of its page if the next one cannot be read.
std::string_view text_at(scan::ProcessMemory& memory, scan::Address address, std::vector<char>& into) {
  const scan::Piece piece{address, std::as_writable_bytes(std::span(into))};
  const std::string_view text(into.data(), memory.read(std::span(&piece, 1)));
  const std::size_t end = text.find('\0');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

/// "PYTORCH_ALLOC_CONF", and what people write in its place by mistake.
bool sets_allocator(std::string_view name) {
  const std::size_t allocator = name.find("ALLOC");
  return name.find("TORCH") < allocator && allocator != std::string_view::npos &&
         name.find("CONF", allocator) != std::string_view::npos;
}

/// Where the process has the address of its variables. A program can have a copy of the C library's `environ`, as the
/// Python of Debian and Ubuntu has; the library then uses that copy.
std::optional<scan::Address> environment_of(const scan::ProcessMemory& memory, pid_t pid) {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed);
  if (!failed) {
    if (const auto copy = scan::symbol_address(memory, program.string(), "environ")) return copy;
  }
  return scan::symbol_address(memory, "/libc.so.6", "environ");
}

}  // namespace

bool for_each_variable(pid_t pid, std::size_t longest, const std::function<void(std::string_view)>& visit) {
  Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(pid);
  if (!memory.ok()) return false;
  const std::optional<scan::Address> environment = environment_of(*memory, pid);
  scan::Address next = 0;
  if (!environment || !read_at(*memory, *environment, next)) return false;
  std::vector<char> bytes(longest + 1);
  scan::Address variable = 0;
  for (std::size_t i = 0; i < kMostVariables && read_at(*memory, next, variable) && variable != 0; ++i) {
    next += sizeof variable;
    visit(text_at(*memory, variable, bytes));
  }
  return true;
}

std::string allocator_variables(pid_t pid) {
  std::set<std::string> found;
  for_each_variable(pid, kLongestSetting, [&](std::string_view text) {
    const std::size_t end = text.find('=');
    if (end != std::string_view::npos && sets_allocator(text.substr(0, end))) found.emplace(text);
  });
  std::string lines;
  for (const std::string& each : found) lines += (lines.empty() ? "" : ";") + each;
  return lines;
}

}  // namespace dcmt::recorder
