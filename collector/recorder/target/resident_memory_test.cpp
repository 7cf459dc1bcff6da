#include "collector/recorder/target/resident_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

/// Words of a process by address; all others read as 0.
class FakeHeaders final : public PieceHeaders {
 public:
  std::map<std::uint64_t, std::vector<std::uint64_t>> words;

  bool read(std::uint64_t address, std::span<std::uint64_t> into) override {
    std::ranges::fill(into, 0);
    const auto found = words.find(address);
    if (found == words.end()) return true;
    for (std::size_t i = 0; i < into.size() && i < found->second.size(); ++i) into[i] = found->second[i];
    return true;
  }
};

std::string mapping(const std::string& range, const std::string& rights, const std::string& path, int rss_kb,
                    const std::string& flags = "rd") {
  return range + " " + rights + " 00000000 00:00 0   " + path + "\nSize: 9 kB\nRss:      " + std::to_string(rss_kb) +
         " kB\nPss: 1 kB\nSwap:   0 kB\nSwapPss: 0 kB\nVmFlags: " + flags + "\n";
}

const ClassBytes& of(const ClassesOfMemory& classes, MappingClass mapping_class) {
  return classes[static_cast<std::size_t>(mapping_class)];
}

TEST(ResidentMemory, AStatusSaysWhatBelongsToFiles) {
  const auto memory =
      parse_status("Name:\tpython\nRssAnon:\t    100 kB\nRssFile:\t 20 kB\nRssShmem:\t 3 kB\nVmSwap:\t 7 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->anonymous, 107 * 1024);
  EXPECT_EQ(memory->file, 20 * 1024);
  EXPECT_EQ(memory->shared, 3 * 1024);
  EXPECT_FALSE(parse_status("Name:\tended\nState:\tZ (zombie)\n"));
}

TEST(ResidentMemory, MappingsAreClassedByWhatTheyAreFor) {
  const std::string smaps = mapping("400000-401000", "r-xp", "/usr/bin/python", 4) +
                            mapping("401000-402000", "rw-p", "/usr/bin/python", 4) +
                            mapping("500000-700000", "rw-p", "[heap]", 2048) +
                            mapping("10000000-10100000", "rw-s", "/dev/shm/torch_12_3_0 (deleted)", 1024) +
                            mapping("10100000-10200000", "rw-s", "/dev/zero (deleted)", 512) +
                            mapping("10200000-10300000", "rw-s", "/memfd:dc-memtrace-spool (deleted)", 256) +
                            mapping("10300000-10400000", "r--p", "/data/tokens.bin", 128) +
                            mapping("10400000-10500000", "rw-s", "/dev/nvidia0", 64) +
                            mapping("7ff0000000-7ff0100000", "rw-p", "[stack]", 32);
  FakeHeaders headers;
  const std::vector<BlockPlace> blocks = {{0x510000, 0x80000}};
  const ClassesOfMemory classes = parse_smaps(smaps, blocks, headers);
  EXPECT_EQ(of(classes, MappingClass::kLibraries).bytes, 8 * 1024);
  EXPECT_EQ(of(classes, MappingClass::kMalloc).bytes, 2 * kMiB);
  EXPECT_EQ(of(classes, MappingClass::kMalloc).torch, kMiB / 2);
  EXPECT_EQ(of(classes, MappingClass::kSharedTensors).bytes, kMiB);
  EXPECT_EQ(of(classes, MappingClass::kSharedTensors).largest, "/dev/shm/torch_12_3_0 (deleted)");
  EXPECT_EQ(of(classes, MappingClass::kSharedMemory).bytes, kMiB / 2);
  EXPECT_EQ(of(classes, MappingClass::kSharedMemory).largest, "");
  EXPECT_EQ(of(classes, MappingClass::kMalloc).largest, "");
  EXPECT_EQ(of(classes, MappingClass::kRecorder).bytes, kMiB / 4);
  EXPECT_EQ(of(classes, MappingClass::kFiles).bytes, kMiB / 8);
  EXPECT_EQ(of(classes, MappingClass::kFiles).size, kMiB);
  EXPECT_EQ(of(classes, MappingClass::kDriver).bytes, kMiB / 16);
  EXPECT_EQ(of(classes, MappingClass::kStacks).bytes, kMiB / 32);
  EXPECT_EQ(of(classes, MappingClass::kOther).bytes, 0);
}

TEST(ResidentMemory, TablesOfTheAgentAreThisTools) {
  const std::string smaps = mapping("10000000-10200000", "rw-p", "", 2048, "rd wr mr mw me nr wf hg ") +
                            mapping("10200000-10300000", "rw-p", "", 1024, "rd wr mr mw me nr hg ");
  FakeHeaders headers;
  const ClassesOfMemory classes = parse_smaps(smaps, {}, headers);
  EXPECT_EQ(of(classes, MappingClass::kRecorder).bytes, 2 * kMiB);
  EXPECT_EQ(of(classes, MappingClass::kOther).bytes, kMiB);
}

TEST(ResidentMemory, PiecesOfMallocAndArenasOfPythonAreRecognizedByWhatTheyBeginWith) {
  const std::string smaps = mapping("10000000-10400000", "rw-p", "", 4096);
  FakeHeaders headers;
  headers.words[0x10000000] = {0, 0x100000 | 2};  // a chunk of 1 MiB
  headers.words[0x10100000] = {7, 0x10100400, 0, 0, std::uint64_t{5} << 32, (std::uint64_t{16000} << 32) | 480};
  const ClassesOfMemory classes = parse_smaps(smaps, {}, headers);
  EXPECT_EQ(of(classes, MappingClass::kMalloc).bytes, kMiB);
  EXPECT_EQ(of(classes, MappingClass::kPython).bytes, kMiB);
  EXPECT_EQ(of(classes, MappingClass::kOther).bytes, 2 * kMiB);
}

TEST(ResidentMemory, APieceThatIsSplitAfterItsFirstPageIsMallocs) {
  const std::string smaps =
      mapping("10000000-10001000", "rw-p", "", 4) + mapping("10001000-10401000", "rw-p", "", 4096);
  FakeHeaders headers;
  headers.words[0x10000000] = {0, 0x401000 | 2};
  const ClassesOfMemory classes = parse_smaps(smaps, {}, headers);
  EXPECT_EQ(of(classes, MappingClass::kMalloc).bytes, 4 * kMiB);
  EXPECT_EQ(of(classes, MappingClass::kOther).bytes, 4096);
}

TEST(ResidentMemory, AHeapOfAThreadAndItsStackAreRecognized) {
  const std::string smaps =
      mapping("7f0000000000-7f0000100000", "rw-p", "", 1024) + mapping("7f0000100000-7f0004000000", "---p", "", 0) +
      mapping("7f1000000000-7f1000001000", "---p", "", 0) + mapping("7f1000001000-7f1000801000", "rw-p", "", 64);
  FakeHeaders headers;
  const ClassesOfMemory classes = parse_smaps(smaps, {}, headers);
  EXPECT_EQ(of(classes, MappingClass::kMalloc).bytes, kMiB);
  EXPECT_EQ(of(classes, MappingClass::kStacks).bytes, 64 * 1024);
  EXPECT_EQ(of(classes, MappingClass::kOther).bytes, 0);
}

TEST(ResidentMemory, OfThisProcessNewSharedMemoryIsSeen) {
  const auto before = classes_of_memory(getpid(), {});
  ASSERT_TRUE(before);
  void* const shared = mmap(nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::memset(shared, 1, 8 * kMiB);
  const auto after = classes_of_memory(getpid(), {});
  const auto counters = resident_memory(getpid());
  munmap(shared, 8 * kMiB);
  ASSERT_TRUE(after && counters);
  EXPECT_EQ(of(*after, MappingClass::kSharedMemory).bytes - of(*before, MappingClass::kSharedMemory).bytes, 8 * kMiB);
  EXPECT_GE(counters->shared, 8 * kMiB);
  EXPECT_FALSE(resident_memory(0x7ffffff0));
}

TEST(SharedMemory, TheRollupOfAProcessIsParsed) {
  const std::optional<SharedMemory> memory = parse_rollup(
      "55cee571c000-7fff946c1000 ---p 00000000 00:00 0      [rollup]\nRss:     100 kB\nPss:   70 kB\n"
      "Pss_Anon:  50 kB\nPss_File:  17 kB\nPss_Shmem:  3 kB\n"
      "Private_Clean:  5 kB\nPrivate_Dirty:  60 kB\nSwap:   9 kB\nSwapPss:   4 kB\nLocked:  0 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->resident, 100 * 1024);
  EXPECT_EQ(memory->unshared, 64 * 1024);
  EXPECT_FALSE(parse_rollup(""));
  EXPECT_FALSE(shared_memory(0));
}

}  // namespace
}  // namespace dcmt::recorder
