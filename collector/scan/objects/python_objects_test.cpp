#include "collector/scan/objects/python_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/objects/python_text.h"
#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr std::int64_t kPython311 = 0x30B;
constexpr Address kPage = 4096;
constexpr Address kBase = 0x100000;
constexpr Address kType = kBase, kName = kBase + kPage, kDict = kBase + 2 * kPage, kValues = kBase + 3 * kPage,
                  kTable = kBase + 8 * kPage, kOtherTable = kBase + 12 * kPage;

/// A process with one dict.
class OneDict : public testing::ChangingProcess {
 public:
  explicit OneDict(const PythonLayout& layout) : ChangingProcess(kBase, 16 * kPage), layout_(layout) {
    object(kType);
    set(kType + layout.tp_name, kName);
    set(kType + layout.tp_basicsize, 64);
    set(kType + layout.tp_flags, std::uint64_t{1} << kDictBit | std::uint64_t{1} << kTypeBit);
    set(kName, 0x74636964);  // "dict"
    object(kDict);
  }

  /// Sets the dict's table and its number of entries.
  void use(Address table, std::uint64_t entries) {
    set(kDict + 16, entries);
    set(kDict + layout_.dict_keys, table);
  }
  /// Writes a table of 512 places with these entries, whose values are objects from `first` on.
  void write_table(Address table, std::uint64_t entries, Address first) {
    set(table + layout_.keys_log2_size, 9 | 9 << 8 | 1 << 16);  // places, bytes of the index, keys are all texts
    set(table + layout_.keys_nentries, entries);
    for (std::uint64_t i = 0; i < entries; ++i) {
      object(first + 16 * i);
      set(table + layout_.keys_indices + 512 + 16 * i + 8, first + 16 * i);
    }
  }
  void set_first_key(Address table, Address key) { set(table + layout_.keys_indices + 512, key); }
  void set_entries(Address table, std::uint64_t entries) { set(table + layout_.keys_nentries, entries); }
  /// Writes an object of a type of its own.
  void write_object(Address at, Address type, const std::string& type_name, std::uint64_t size) {
    object(type);
    set(type + layout_.tp_name, type + kPage);
    set(type + layout_.tp_basicsize, size);
    for (std::size_t i = 0; i <= type_name.size() / 8; ++i) {
      std::uint64_t letters = 0;
      std::memcpy(&letters, type_name.data() + 8 * i, std::min<std::size_t>(8, type_name.size() - 8 * i));
      set(type + kPage + 8 * i, letters);
    }
    object(at, type);
  }

 private:
  void object(Address at, Address type = kType) {
    set(at, 1);
    set(at + 8, type);
  }

  const PythonLayout& layout_;
};

class PythonObjectsTest : public ::testing::Test {
 protected:
  /// Address of the first value of the dict; 0 if none was found. `count_` is the number of values.
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
  process_.write_table(kTable, 500, kValues);
  process_.use(kTable, 500);
  process_.before_read = [&](Address from) {
    if (from != kTable + 2 * kPage) return;
    process_.write_table(kOtherTable, 499, kValues + 16);
    process_.use(kOtherTable, 499);
    process_.write_table(kTable, 500, kValues + 32);
  };
  EXPECT_EQ(first_value(), kValues + 16);
  EXPECT_EQ(count_, 499U);
  EXPECT_EQ(torn_, 0U);
}

TEST_F(PythonObjectsTest, ACensusOfVariablesFollowsBoundMethodsOfC) {
  Address type = kValues;
  for (const char* name : {"builtin_function_or_method", "method-wrapper"}) {
    const Address method = type + 2 * kPage;
    process_.write_object(method, type, name, 56);
    process_.set(method + 24, kDict);
    Mirror memory(process_);
    PythonObjects objects(memory, types_);
    Graph graph(objects, {.dearest = 2});
    graph.add_root({.address = method, .kind = Kind::kObject, .name = "main.put"}, 0);
    graph.explore();
    PythonText text(memory, types_);
    Paths paths(graph, memory, types_, text);
    EXPECT_EQ(paths.text_of(paths.way_to(graph.find(kDict, Kind::kDict))), "main.put.__self__") << name;
    type += 3 * kPage;
  }
}

TEST_F(PythonObjectsTest, ACensusOfVariablesFollowsATasksCoroutine) {
  constexpr Address kTask = kValues, kCoroutine = kValues + 3 * kPage, kCoroutineOffset = 128;
  process_.write_object(kTask, kTask + kPage, "_asyncio.Task", 176);
  process_.write_object(kCoroutine, kCoroutine + 256, "coroutine", 128);
  process_.set(kTask + kCoroutineOffset, kCoroutine);
  Mirror memory(process_);
  PythonObjects objects(memory, types_);
  Graph graph(objects, {.dearest = 2});
  graph.add_root({.address = kTask, .kind = Kind::kObject, .name = "main.waiting"}, 0);
  graph.explore();
  PythonText text(memory, types_);
  Paths paths(graph, memory, types_, text);
  EXPECT_EQ(paths.text_of(paths.way_to(graph.find(kCoroutine, Kind::kGenerator))), "main.waiting (coroutine)");
}

TEST_F(PythonObjectsTest, NumbersWhereAnObjectWasHoldNothing) {
  constexpr Address kIterator = kValues, kNumbers = kValues + 3 * kPage, kOtherType = kValues + 6 * kPage;
  process_.write_object(kIterator, kValues + kPage, "itertools.permutations", 64);
  process_.write_object(kNumbers, kOtherType, "iterator", 128);  // it has been freed, and left its type there
  process_.set(kNumbers + 112, kDict);
  const auto found = [&](Address member) {
    process_.set(kIterator + member, kNumbers);
    Mirror memory(process_);
    PythonObjects objects(memory, types_);
    std::vector<Reference> references;
    objects.decode(kIterator, Kind::kObject, references);
    process_.set(kIterator + member, 0);
    return references.size();
  };
  EXPECT_EQ(found(16), 1U) << "the pool is an object";
  EXPECT_EQ(found(24), 0U) << "indices";
  EXPECT_EQ(found(32), 0U) << "cycles";
}

TEST_F(PythonObjectsTest, AnEntryKeepsTheNameThatItHadWhenItWasRead) {
  process_.write_table(kTable, 1, kValues);
  process_.set_first_key(kTable, kDict);
  process_.use(kTable, 1);
  Mirror memory(process_);
  PythonObjects objects(memory, types_);
  Graph graph(objects);
  graph.add_root({.address = kDict, .kind = Kind::kDict, .name = "main"}, 0);
  graph.explore();
  // Another dict gets the memory of the table, and is read.
  process_.set_first_key(kTable, 0);
  memory.forget({kBase, kBase + 16 * kPage});
  PythonText text(memory, types_);
  Paths paths(graph, memory, types_, text);
  EXPECT_EQ(paths.text_of(paths.way_to(graph.find(kValues, Kind::kDict))), "main[<dict>]");
}

}  // namespace
}  // namespace dcmt::scan
