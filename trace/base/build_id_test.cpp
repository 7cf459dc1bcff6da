#include "trace/base/build_id.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dcmt {
namespace {

std::string note(std::uint32_t type, std::string_view name, std::string_view content) {
  std::string bytes;
  for (const std::uint32_t word :
       {static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(content.size()), type}) {
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  for (const std::string_view part : {name, content}) {
    bytes += part;
    bytes.resize((bytes.size() + 3) & ~std::size_t{3});
  }
  return bytes;
}

constexpr std::string_view kGnu("GNU\0", 4);

std::string id_in(const std::string& notes) {
  char text[kMaxBuildIdText];
  build_id_in(notes.data(), notes.size(), text);
  return text;
}

TEST(BuildId, IsFoundAmongOtherNotes) {
  const std::string others = note(NT_GNU_ABI_TAG, kGnu, "0123") + note(7, "Go", "x");
  EXPECT_EQ(id_in(others + note(NT_GNU_BUILD_ID, kGnu, "\x01\xab\xff")), "01abff");
  EXPECT_EQ(id_in(others), "");
  EXPECT_EQ(id_in(""), "");
}

TEST(BuildId, OfNotesThatMakeNoSenseIsEmpty) {
  const std::string right = note(NT_GNU_BUILD_ID, kGnu, "0123456789abcdefghij");
  for (std::size_t bytes = 0; bytes < right.size(); ++bytes) EXPECT_EQ(id_in(right.substr(0, bytes)), "") << bytes;
  EXPECT_EQ(id_in(note(NT_GNU_BUILD_ID, kGnu, std::string(400, 'x'))), "") << "longer than any id";
  std::string endless = right;
  endless[0] = endless[1] = endless[2] = endless[3] = '\xff';
  EXPECT_EQ(id_in(endless), "");
}

TEST(BuildId, OfAFileIsTheLinkersOrEmpty) {
  EXPECT_EQ(build_id_of("/nonexistent"), "");
  EXPECT_EQ(build_id_of("/dev/null"), "");
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "dcmt_no_elf";
  std::ofstream(file) << std::string(4096, 'x');
  EXPECT_EQ(build_id_of(file), "");
  std::filesystem::remove(file);
  EXPECT_EQ(build_id_of("/proc/self/exe").find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace dcmt
