#include "collector/scan/native/library_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/testing/address_of.h"

extern const char _end[];  // from the linker: the end of the program's last variable

namespace dcmt::scan {
namespace {

char g_begins_as_zero[1 << 20];

/// A process that has mapped only these.
class Mapped : public MemorySource {
 public:
  explicit Mapped(std::vector<Region> regions) : regions_(std::move(regions)) {}
  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece>) override { return 0; }
  [[nodiscard]] std::string host_path(const std::string& path) const override { return path; }

 private:
  std::vector<Region> regions_;
};

/// This process, as if the system had mapped 64 MiB more right after the program's variables.
std::vector<Region> more_behind(std::vector<Region> regions) {
  const auto after = std::ranges::upper_bound(regions, address_of(std::end(g_begins_as_zero) - 1), {}, &Region::begin);
  (after - 1)->end = std::max((after - 1)->end, address_of(_end)) + (64 << 20);
  return regions;
}

TEST(LibraryDataTest, MemoryRightBehindTheVariablesIsNoneOfThem) {
  g_begins_as_zero[0] = 1;
  Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
  ASSERT_TRUE(memory.ok());
  Mapped source(more_behind(memory->regions()));
  LibraryData data(source);
  const Address last = address_of(g_begins_as_zero) + sizeof g_begins_as_zero - 1;
  EXPECT_TRUE(data.has(last));
  EXPECT_TRUE(data.name_of(last).ends_with("g_begins_as_zero")) << data.name_of(last);
  EXPECT_FALSE(data.has(address_of(_end)));
  EXPECT_FALSE(data.has(address_of(_end) + (32 << 20)));
}

TEST(LibraryDataTest, TheRecordingsOwnLibrariesHoldNothing) {
  const auto has = [](const std::string& path) {
    Mapped source({{.begin = 0x1000, .end = 0x2000, .writable = true, .path = path}});
    return LibraryData(source).has(0x1800);
  };
  EXPECT_FALSE(has("/opt/lib/dcmt/torch-2.10/libdcmt_torch.so"));
  EXPECT_FALSE(has("/memfd:libdcmt_agent.so (deleted)"));
  EXPECT_FALSE(has("/lib/libc.so.6"));
  EXPECT_TRUE(has("/opt/lib/dcmt/libdcmt_zero3.so")) << "the executor keeps parameters";
  EXPECT_TRUE(has("/opt/lib/libcache.so"));
}

}  // namespace
}  // namespace dcmt::scan
