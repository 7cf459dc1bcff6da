// The memory of a running process, which is read without stopping its threads.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "collector/scan/memory/memory_source.h"
#include "trace/base/descriptor.h"
#include "trace/base/process_read.h"
#include "trace/base/status.h"

namespace dcmt::scan {

/// The mappings in `text`, the content of /proc/PID/maps. Invalid lines are skipped. Device memory and the kernel's own
/// pages count as unreadable.
[[nodiscard]] std::vector<Region> parse_maps(std::string_view text);

class ProcessMemory final : public MemorySource {
 public:
  /// Fails with kCannotRecord and the remedy if the process does not exist or this user may not read it.
  [[nodiscard]] static Expected<ProcessMemory> open(pid_t pid);

  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece> pieces) override;
  /// From /proc/PID/pagemap.
  [[nodiscard]] std::vector<bool> written_pages(Range range) override;
  /// Likewise.
  [[nodiscard]] bool is_page_unshared(Address address) override;
  [[nodiscard]] std::string host_path(const std::string& path) const override;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ProcessMemory(pid_t pid, std::vector<Region> regions, ProcessBytes memory, Descriptor pages)
      : pid_(pid), regions_(std::move(regions)), memory_(std::move(memory)), pages_(std::move(pages)) {}

  pid_t pid_;
  std::vector<Region> regions_;
  ProcessBytes memory_;
  Descriptor pages_;
};

}  // namespace dcmt::scan
