#include "collector/scan/native/library_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/testing/address_of.h"

extern const char _end[];  // from the linker: the end of the program's last variable

namespace dcmt::scan {
namespace {

char g_begins_as_zero[1 << 20];

/// This process, as if the system had mapped 64 MiB more right after the program's variables.
class MoreBehind : public MemorySource {
 public:
  explicit MoreBehind(const std::vector<Region>& regions) : regions_(regions) {
    const auto after =
        std::ranges::upper_bound(regions_, address_of(std::end(g_begins_as_zero) - 1), {}, &Region::begin);
    (after - 1)->end = std::max((after - 1)->end, address_of(_end)) + (64 << 20);
  }
  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece>) override { return 0; }
  [[nodiscard]] std::string host_path(const std::string& path) const override { return path; }

 private:
  std::vector<Region> regions_;
};

TEST(LibraryDataTest, MemoryRightBehindTheVariablesIsNoneOfThem) {
  g_begins_as_zero[0] = 1;
  Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
  ASSERT_TRUE(memory.ok());
  MoreBehind source(memory->regions());
  LibraryData data(source);
  const Address last = address_of(g_begins_as_zero) + sizeof g_begins_as_zero - 1;
  EXPECT_TRUE(data.has(last));
  EXPECT_TRUE(data.name_of(last).ends_with("g_begins_as_zero")) << data.name_of(last);
  EXPECT_FALSE(data.has(address_of(_end)));
  EXPECT_FALSE(data.has(address_of(_end) + (32 << 20)));
}

}  // namespace
}  // namespace dcmt::scan
