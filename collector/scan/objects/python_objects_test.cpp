#include "collector/scan/objects/python_objects.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dcmt::scan {
namespace {

constexpr std::int64_t kPython311 = 0x30B;
constexpr Address kPage = 4096;
constexpr Address kBase = 0x100000;
constexpr Address kType = kBase, kName = kBase + kPage, kDict = kBase + 2 * kPage, kValues = kBase + 3 * kPage,
                  kTable = kBase + 8 * kPage, kOtherTable = kBase + 12 * kPage;

/// The memory of a process with one dict. Tests change it between reads.
class OneDict : public MemorySource {
 public:
  explicit OneDict(const PythonLayout& layout) : layout_(layout) {
    Region region;
    region.begin = kBase;
    region.end = kBase + bytes_.size();
    region.readable = true;
    regions_.push_back(region);
    object(kType);
    set(kType + layout.tp_name, kName);
    set(kType + layout.tp_basicsize, 64);
    set(kType + layout.tp_flags, std::uint64_t{1} << kDictBit | std::uint64_t{1} << kTypeBit);
    set(kName, 0x74636964);  // "dict"
    object(kDict);
  }

  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece> pieces) override {
    std::size_t total = 0;
    for (const Piece& piece : pieces) {
      if (before_read) before_read(piece.from);
      std::memcpy(piece.into.data(), bytes_.data() + (piece.from - kBase), piece.into.size());
      total += piece.into.size();
    }
    return total;
  }
  [[nodiscard]] std::string host_path(const std::string& path) const override { return path; }

  /// The dict has this table and says that it has so many entries.
  void use(Address table, std::uint64_t entries) {
    set(kDict + 16, entries);
    set(kDict + layout_.dict_keys, table);
  }
  /// A table of 512 places with these entries, whose values are objects from `first` on.
  void write_table(Address table, std::uint64_t entries, Address first) {
    set(table + layout_.keys_log2_size, 9 | 9 << 8 | 1 << 16);  // places, bytes of the index, keys are all texts
    set(table + layout_.keys_nentries, entries);
    for (std::uint64_t i = 0; i < entries; ++i) {
      object(first + 16 * i);
      set(table + layout_.keys_indices + 512 + 16 * i + 8, first + 16 * i);
    }
  }
  void set_entries(Address table, std::uint64_t entries) { set(table + layout_.keys_nentries, entries); }

  std::function<void(Address from)> before_read;

 private:
  void object(Address at) {
    set(at, 1);
    set(at + 8, kType);
  }
  void set(Address at, std::uint64_t word) { std::memcpy(bytes_.data() + (at - kBase), &word, sizeof(word)); }

  const PythonLayout& layout_;
  std::array<std::byte, 16 * kPage> bytes_{};
  std::vector<Region> regions_;
};

class PythonObjectsTest : public testing::Test {
 protected:
  /// Where the first value of the dict lies; 0 where none was found. `count_` is how many were.
  Address first_value() {
    Mirror memory(process_);
    PythonObjects objects(memory, types_);
    std::vector<Reference> references;
    objects.decode(kDict, Kind::kDict, references);
    count_ = references.size();
    torn_ = objects.torn_objects();
    return references.empty() ? 0 : references.front().target;
  }

  ProcessTypes types_{*python_layout(kPython311), {}};
  OneDict process_{types_.python};
  std::size_t count_ = 0;
  std::size_t torn_ = 0;
};

TEST_F(PythonObjectsTest, ATableWithoutItsEntriesIsReadAgain) {
  process_.write_table(kTable, 3, kValues);
  process_.set_entries(kTable, 0);
  process_.use(kTable, 3);
  int reads = 0;
  process_.before_read = [&](Address from) {
    if (from == kTable && ++reads == 2) process_.set_entries(kTable, 3);
  };
  EXPECT_EQ(first_value(), kValues);
  EXPECT_EQ(count_, 3U);
  EXPECT_EQ(torn_, 0U);
}

TEST_F(PythonObjectsTest, ATableThatStaysWithoutItsEntriesIsTorn) {
  process_.write_table(kTable, 3, kValues);
  process_.set_entries(kTable, 0);
  process_.use(kTable, 3);
  EXPECT_EQ(first_value(), 0U);
  EXPECT_EQ(torn_, 1U);
}

TEST_F(PythonObjectsTest, ALargeTableThatIsReplacedWhileItIsReadIsReadAgain) {
  process_.write_table(kTable, 300, kValues);
  process_.use(kTable, 300);
  process_.before_read = [&](Address from) {
    if (from != kTable + kPage) return;
    process_.write_table(kOtherTable, 299, kValues + 16);
    process_.use(kOtherTable, 299);
    process_.write_table(kTable, 300, kValues + 32);
  };
  EXPECT_EQ(first_value(), kValues + 16);
  EXPECT_EQ(count_, 299U);
  EXPECT_EQ(torn_, 0U);
}

}  // namespace
}  // namespace dcmt::scan
