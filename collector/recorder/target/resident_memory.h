// What of a process's memory is in memory or in swap, as the kernel counts it, and what it is mapped for.
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

/// Bytes; in memory or in swap.
struct ResidentMemory {
  std::int64_t anonymous = 0;  ///< that belong to no file
  std::int64_t file = 0;       ///< of files that it has mapped
  std::int64_t shared = 0;     ///< of shared memory
};

/// Reads counters of the kernel: costs the process nothing, whatever it has. Nothing if the process has ended.
[[nodiscard]] std::optional<ResidentMemory> resident_memory(pid_t pid);
/// The same of the text of /proc/PID/status.
[[nodiscard]] std::optional<ResidentMemory> parse_status(std::string_view status);

enum class MappingClass : std::uint8_t {
  kLibraries,      ///< programs and libraries, with what they have changed of it
  kFiles,          ///< other files
  kSharedTensors,  ///< tensors that torch's processes share, as those of DataLoader's workers
  kSharedMemory,   ///< other shared memory
  kDriver,         ///< of a GPU
  kMalloc,         ///< of the C library's allocator, with what torch's allocator has of it
  kPython,         ///< of Python's allocator of small objects
  kStacks,         ///< of threads
  kRecorder,       ///< what this tool has mapped
  kOther,
};
inline constexpr std::size_t kMappingClasses = 10;

/// As the trace has it: static text.
[[nodiscard]] std::string_view name_of(MappingClass mapping_class);

struct ClassBytes {
  std::int64_t bytes = 0;  ///< in memory or in swap
  std::int64_t torch = 0;  ///< of these, in blocks of torch's allocator
  std::int64_t size = 0;   ///< of the mappings, used or not
  std::int64_t mappings = 0;
  std::string largest;  ///< the file of the largest mapping; empty: it has none
  std::int64_t largest_bytes = 0;
};
using ClassesOfMemory = std::array<ClassBytes, kMappingClasses>;

/// A block of torch's allocator.
struct BlockPlace {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// What the allocators of C and Python have written at the begin of their pieces.
class PieceHeaders {
 public:
  virtual ~PieceHeaders() = default;
  /// Reads `words` from `address` of the process; false if it cannot be read.
  [[nodiscard]] virtual bool read(std::uint64_t address, std::span<std::uint64_t> words) = 0;
};

/// Of the text of /proc/PID/smaps. @param blocks  in the order of their addresses
[[nodiscard]] ClassesOfMemory parse_smaps(std::string_view smaps, std::span<const BlockPlace> blocks,
                                          PieceHeaders& headers);

/// The kernel walks the page tables of the process for it, a mapping at a time, while the process runs; it cannot map
/// or unmap memory during each of these walks. Nothing if the process has ended or may not be read.
[[nodiscard]] std::optional<ClassesOfMemory> classes_of_memory(pid_t pid, std::span<const BlockPlace> blocks);

}  // namespace dcmt::recorder
