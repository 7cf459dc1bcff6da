#include "collector/scan/native/memory_words.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "collector/scan/memory/process_memory.h"

namespace dcmt::scan {
namespace {

constexpr std::size_t kPages = 600;  // more than two blocks
constexpr std::size_t kBytes = kPages * kPageBytes;

/// A private mapping of this process; of a file if one is given.
class Mapping {
 public:
  explicit Mapping(int file) {
    const int flags = MAP_PRIVATE | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    begin_ = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0));
    madvise(begin_, kBytes, MADV_NOHUGEPAGE);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(begin_, kBytes); }

  [[nodiscard]] std::byte* page(std::size_t number) const { return begin_ + number * kPageBytes; }
  [[nodiscard]] Address address(std::size_t number) const { return reinterpret_cast<Address>(page(number)); }

 private:
  std::byte* begin_ = nullptr;
};

/// The nonzero words of the mapping, by address. All other memory is left out: a sanitizer maps terabytes.
std::map<Address, Address> words_of(const Mapping& mapping) {
  Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
  EXPECT_TRUE(memory.ok());
  std::map<Address, Address> words;
  MemoryWords of_mapping(*memory, {{0, mapping.address(0)}, {mapping.address(kPages), ~Address{0}}});
  EXPECT_EQ(of_mapping.bytes(), kBytes);
  of_mapping.each_block([&](const Region&, Address at, std::span<const std::byte> bytes) {
    for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(Address)) {
      Address word = 0;
      std::memcpy(&word, bytes.data() + offset, sizeof(word));
      if (word != 0) words.emplace(at + offset, word);
    }
  });
  return words;
}

void write(const Mapping& mapping, std::size_t page, Address word) {
  std::memcpy(mapping.page(page), &word, sizeof(word));
}

TEST(MemoryWords, AreThoseOfThePagesThatTheProcessHasWritten) {
  const Mapping mapping(-1);
  std::map<Address, Address> expected;
  for (const std::size_t page : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{300}, kPages - 1}) {
    write(mapping, page, page + 7);
    expected.emplace(mapping.address(page), page + 7);
  }
  EXPECT_EQ(words_of(mapping), expected);
}

/// A file of `kBytes` in memory, with a word in each page.
class File {
 public:
  File() : fd_(memfd_create("words", MFD_CLOEXEC)) {
    std::vector<Address> words(kBytes / sizeof(Address));
    for (std::size_t page = 0; page < kPages; ++page) words[page * (kPageBytes / sizeof(Address))] = 99;
    EXPECT_EQ(pwrite(fd_.get(), words.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  }
  [[nodiscard]] int get() const { return fd_.get(); }

 private:
  Descriptor fd_;
};

TEST(MemoryWords, OfAFileAreThoseThatTheProcessHasChanged) {
  const File file;
  const Mapping mapping(file.get());
  write(mapping, 3, 42);
  [[maybe_unused]] const std::byte only_read = *static_cast<volatile std::byte*>(mapping.page(8));
  EXPECT_EQ(words_of(mapping), (std::map<Address, Address>{{mapping.address(3), 42}}));
}

/// The resident bytes of the mapping in /proc/self/smaps.
std::size_t resident_bytes(const Mapping& mapping) {
  char line[512];
  bool is_ours = false;
  std::size_t kib = 0;
  FILE* smaps = std::fopen("/proc/self/smaps", "r");
  while (std::fgets(line, sizeof(line), smaps) != nullptr) {
    unsigned long begin = 0, end = 0, size = 0;
    if (std::sscanf(line, "%lx-%lx ", &begin, &end) == 2) is_ours = begin == mapping.address(0);
    if (is_ours && std::sscanf(line, "Rss: %lu kB", &size) == 1) kib += size;
  }
  std::fclose(smaps);
  return kib * 1024;
}

TEST(MemoryWords, ToReadThemMakesNoPageResident) {
  const File file;
  const Mapping mapping(file.get());
  write(mapping, 3, 42);
  const std::size_t before = resident_bytes(mapping);
  EXPECT_GT(before, 0U);
  EXPECT_EQ(words_of(mapping).size(), 1U);
  EXPECT_EQ(resident_bytes(mapping), before);
}

}  // namespace
}  // namespace dcmt::scan
