// The part of a process's memory that is resident or swapped, by the kernel's counters, and the purpose of its
// mappings.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dcmt::recorder {

/// Bytes that are resident or swapped.
struct ResidentMemory {
  std::int64_t anonymous = 0;  ///< memory without a file
  std::int64_t file = 0;       ///< mapped files
  std::int64_t shared = 0;     ///< of shared memory
};

/// Reads the kernel's counters, which costs the process nothing. Nothing if the process has ended.
[[nodiscard]] std::optional<ResidentMemory> resident_memory(pid_t pid);
/// Parses the text of /proc/PID/status.
[[nodiscard]] std::optional<ResidentMemory> parse_status(std::string_view status);

/// Bytes that are resident, and which of them the process does not share.
struct SharedMemory {
  std::int64_t resident = 0;
  std::int64_t unshared = 0;  ///< changed, and in no other process; with its part of what is in swap
  /// Of the resident ones, those without a file, of files and of shared memory. What several processes have counts in
  /// equal parts for each (PSS).
  std::int64_t anonymous = 0, file = 0, shared = 0;
  std::int64_t swapped = 0;  ///< likewise
};

/// The kernel walks the page tables of the process, which takes milliseconds for each GiB. Nothing if the process has
/// ended or may not be read.
[[nodiscard]] std::optional<SharedMemory> shared_memory(pid_t pid);
/// Parses the text of /proc/PID/smaps_rollup.
[[nodiscard]] std::optional<SharedMemory> parse_rollup(std::string_view rollup);

/// True for the path of a mapping of shared memory.
[[nodiscard]] bool is_shared_memory(std::string_view path);
/// True for one of this tool's.
[[nodiscard]] bool is_of_recorder(std::string_view path);

enum class MappingClass : std::uint8_t {
  kLibraries,      ///< programs and libraries, including their changed pages
  kFiles,          ///< other files
  kSharedTensors,  ///< tensors that torch's processes share, as those of DataLoader's workers
  kSharedMemory,   ///< other shared memory
  kDriver,         ///< driver of a GPU
  kMalloc,         ///< the C library's allocator, including blocks that torch's allocator got from it
  kPython,         ///< Python's allocator of small objects
  kStacks,         ///< stacks of threads
  kRecorder,       ///< mappings of this tool
  kOther,
};
inline constexpr std::size_t kMappingClasses = 10;

/// The name in the trace: static text.
[[nodiscard]] std::string_view name_of(MappingClass mapping_class);

struct ClassBytes {
  std::int64_t bytes = 0;  ///< resident or swapped
  std::int64_t torch = 0;  ///< bytes of these in blocks of torch's allocator
  std::int64_t size = 0;   ///< size of the mappings, used or not
  std::int64_t mappings = 0;
  std::string largest;  ///< the file of the largest mapping; empty: none
  std::int64_t largest_bytes = 0;
};
using ClassesOfMemory = std::array<ClassBytes, kMappingClasses>;

/// A block of torch's allocator.
struct BlockPlace {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Reads the headers that the allocators of C and Python write at the begin of their chunks and pools.
class PieceHeaders {
 public:
  virtual ~PieceHeaders() = default;
  /// Reads `words` from `address` of the process; false if it cannot be read.
  [[nodiscard]] virtual bool read(std::uint64_t address, std::span<std::uint64_t> words) = 0;
};

/// Parses the text of /proc/PID/smaps. @param blocks  sorted by address
[[nodiscard]] ClassesOfMemory parse_smaps(std::string_view smaps, std::span<const BlockPlace> blocks,
                                          PieceHeaders& headers);

/// The kernel walks the page tables of the process, one mapping at a time, while the process runs; the process cannot
/// map or unmap memory during each walk. Nothing if the process has ended or may not be read.
[[nodiscard]] std::optional<ClassesOfMemory> classes_of_memory(pid_t pid, std::span<const BlockPlace> blocks);

}  // namespace dcmt::recorder
