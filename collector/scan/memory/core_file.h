// Reads the memory of a process from a core file, which the kernel or gcore has written.
#pragma once

#include <unordered_map>

#include "collector/scan/memory/memory_source.h"
#include "trace/base/descriptor.h"
#include "trace/base/status.h"

namespace dcmt::scan {

/// Memory that the core file omits because it is in a mapped file, such as code, is read from that file. It must be the
/// file that the process had.
class CoreFile final : public MemorySource {
 public:
  struct MappedFile {
    Address begin = 0;
    Address end = 0;
    std::uint64_t offset = 0;  ///< offset in the file, in bytes
    std::string path;
  };

  /// Fails with kBadInput if the file cannot be read or is not a core file of a process of this architecture.
  [[nodiscard]] static Expected<CoreFile> open(const std::string& path);

  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece> pieces) override;
  [[nodiscard]] std::string host_path(const std::string& path) const override { return path; }

 private:
  /// The place, in the core file, of the bytes of the region with the same index.
  struct Stored {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  explicit CoreFile(Descriptor file) : file_(std::move(file)) {}
  /// Adds mappings that no segment of the core file has: gcore omits them, and the kernel writes them with size 0.
  void add_left_out(const std::vector<MappedFile>& files);
  std::size_t read_some(Address from, std::span<std::byte> into);
  int mapped_file(const std::string& path);

  Descriptor file_;
  std::vector<Region> regions_;
  std::vector<Stored> stored_;
  std::unordered_map<std::string, Descriptor> mapped_;
};

}  // namespace dcmt::scan
