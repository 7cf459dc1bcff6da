#include "collector/scan/process/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dcmt::scan {
namespace {

constexpr Address kValue = 0x1000;

/// A library with two segments and one exported variable, `counter`, of eight bytes.
std::string library() {
  const std::string names("\0counter", 9);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  Elf64_Phdr segments[2]{};
  Elf64_Shdr sections[3]{};
  Elf64_Sym symbols[2]{};
  header.e_phoff = sizeof header;
  header.e_phnum = std::size(segments);
  header.e_shoff = header.e_phoff + sizeof segments;
  header.e_shnum = std::size(sections);
  segments[0].p_type = segments[1].p_type = PT_LOAD;
  segments[0].p_vaddr = 0x234;
  segments[1].p_vaddr = 0x2000;
  segments[1].p_memsz = 0x100;
  sections[1].sh_type = SHT_DYNSYM;
  sections[1].sh_offset = header.e_shoff + sizeof sections;
  sections[1].sh_size = sizeof symbols;
  sections[1].sh_link = 2;
  sections[2].sh_offset = sections[1].sh_offset + sizeof symbols;
  sections[2].sh_size = names.size();
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_value = kValue;
  symbols[1].st_size = 8;
  std::string bytes;
  const auto add = [&](const auto& part) { bytes.append(reinterpret_cast<const char*>(&part), sizeof part); };
  add(header);
  add(segments);
  add(sections);
  add(symbols);
  return bytes + names;
}

class ElfFileTest : public ::testing::Test {
 protected:
  ~ElfFileTest() override { std::filesystem::remove(path_); }

  const std::string& written(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return path_;
  }

 private:
  std::string path_ = ::testing::TempDir() + "dcmt_elf_file_" + std::to_string(getpid());
};

TEST_F(ElfFileTest, SymbolsAndSegmentsAreFound) {
  const ElfFile file(written(library()));
  EXPECT_EQ(file.exported("counter"), kValue);
  EXPECT_EQ(file.exported_bytes("counter"), 8u);
  EXPECT_EQ(file.exported("count"), std::nullopt);
  EXPECT_EQ(file.variable_at(kValue + 7), "counter");
  EXPECT_EQ(file.variable_at(kValue + 8), std::nullopt);
  EXPECT_EQ(file.first_page(), 0u);
  EXPECT_EQ(file.end(), 0x2100u);
}

TEST_F(ElfFileTest, AFileThatEndsAnywhereIsReadToItsEnd) {
  const std::string whole = library();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ElfFile file(written(whole.substr(0, size)));
    EXPECT_EQ(file.exported("counter"), std::nullopt) << size;
    EXPECT_EQ(file.variable_at(kValue), std::nullopt) << size;
  }
}

TEST_F(ElfFileTest, WhatADamagedHeaderNamesIsNotRead) {
  std::string bytes = library();
  for (const std::size_t field : {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff)}) {
    for (const std::uint64_t value : {~std::uint64_t{0}, ~std::uint64_t{0} - 100, std::uint64_t{bytes.size()}}) {
      std::memcpy(bytes.data() + field, &value, sizeof value);
      const ElfFile file(written(bytes));
      EXPECT_EQ(file.exported("counter").value_or(kValue), kValue);
      EXPECT_EQ(file.end() & ~Address{0x2100}, 0u);
    }
  }
}

TEST_F(ElfFileTest, WhatIsNoElfFileIsEmpty) {
  for (const std::string path : {"/nonexistent", "/proc/self/maps", "/tmp"}) {
    const ElfFile file(path);
    EXPECT_EQ(file.exported("counter"), std::nullopt) << path;
    EXPECT_EQ(file.first_page() + file.end(), 0u) << path;
  }
}

}  // namespace
}  // namespace dcmt::scan
