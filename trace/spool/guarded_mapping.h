// A file in memory that somebody else can cut short meanwhile: what is gone reads as zeros, where an ordinary mapping
// would end this process by SIGBUS.
#pragma once

#include <cstddef>

namespace dcmt::spool {

enum class Sharing {
  kShared,   ///< what is written here is in the file
  kPrivate,  ///< what is written here stays here; `fd` may be read-only
};

/// Installs a handler of SIGBUS with the first mapping, which passes on what is not about a mapping of this class.
/// Thread-safety: mappings are made, used and unmade on any threads; one mapping by one thread at a time.
class GuardedMapping {
 public:
  /// At most so many at a time.
  static constexpr std::size_t kMost = 4096;

  GuardedMapping() = default;
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;
  ~GuardedMapping();

  /// Maps the first `bytes` of a file, readable and writable. An empty mapping with errno set if that fails.
  static GuardedMapping map(int fd, std::size_t bytes, Sharing sharing);

  [[nodiscard]] char* base() const { return base_; }  ///< nullptr: empty
  /// So many bytes at the begin are known to be those of the file still; less than what was mapped once a read behind
  /// them met nothing.
  [[nodiscard]] std::size_t intact_bytes() const;

 private:
  void unmap();

  char* base_ = nullptr;
  std::size_t slot_ = 0;  ///< in the table that the handler reads
};

}  // namespace dcmt::spool
