// A mapped file that another process can truncate at any time. Missing pages read as zeros; with an ordinary mapping,
// the read would end this process by SIGBUS.
#pragma once

#include <cstddef>

namespace dcmt::spool {

enum class Sharing {
  kShared,   ///< writes go to the file
  kPrivate,  ///< writes stay private to the mapping; `fd` may be read-only
};

/// The first mapping installs a handler of SIGBUS. The handler passes on signals that do not concern a mapping of this
/// class. Thread-safety: any thread may make, use and unmap mappings; only one thread at a time may use one mapping.
class GuardedMapping {
 public:
  /// Limit of mappings at one time.
  static constexpr std::size_t kMost = 4096;

  GuardedMapping() = default;
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;
  ~GuardedMapping();

  /// Maps the first `bytes` of a file, readable and writable. Returns an empty mapping, with errno set, if that fails.
  static GuardedMapping map(int fd, std::size_t bytes, Sharing sharing);

  [[nodiscard]] char* base() const { return base_; }  ///< nullptr for an empty mapping
  /// So many bytes from the start still belong to the file. The value is less than the mapped size once a read has
  /// found missing pages.
  [[nodiscard]] std::size_t intact_bytes() const;

 private:
  void unmap();

  char* base_ = nullptr;
  std::size_t slot_ = 0;  ///< index in the table that the signal handler reads
};

}  // namespace dcmt::spool
