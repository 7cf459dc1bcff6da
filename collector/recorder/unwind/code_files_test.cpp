#include "collector/recorder/unwind/code_files.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>

namespace dcmt::recorder {
namespace {

/// Where this program is loaded.
std::uint64_t own_base() {
  std::uint64_t base = 0;
  const auto first = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(first, &base);
  return base;
}

__attribute__((noinline)) std::uint64_t caller() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) - own_base();
}

constexpr int kInnerLine = __LINE__ + 1;
__attribute__((always_inline)) inline std::uint64_t placed_inside() { return caller(); }

constexpr int kOuterLine = __LINE__ + 2;
__attribute__((noinline)) std::uint64_t has_placed(volatile int& calls) {
  const std::uint64_t place = placed_inside();
  calls = calls + 1;
  return place;
}

TEST(CodeFiles, AFunctionThatWasCompiledIntoAnotherHasItsOwnPlace) {
  volatile int calls = 0;
  const std::uint64_t returns = has_placed(calls);
  CodeFiles files;
  const std::vector<CodePlace> places = files.places("/proc/self/exe", returns - 1);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_NE(places[0].function.find("placed_inside"), std::string::npos) << places[0].function;
  EXPECT_EQ(places[0].line, kInnerLine);
  EXPECT_NE(places[1].function.find("has_placed"), std::string::npos) << places[1].function;
  EXPECT_EQ(places[1].line, kOuterLine);
  for (const CodePlace& place : places) EXPECT_TRUE(place.file.ends_with("code_files_test.cpp")) << place.file;
}

TEST(CodeFiles, WithoutAFileOnlyTheOffsetIsKnown) {
  CodeFiles files;
  const CodePlace place = files.places("/nowhere", 0x40).back();
  EXPECT_EQ(place.object, "/nowhere");
  EXPECT_EQ(place.offset, 0x40U);
  EXPECT_TRUE(place.function.empty() && place.file.empty());
  EXPECT_TRUE(files.places("/proc/self/exe", 1).back().function.empty()) << "no function is there";
  EXPECT_TRUE(files.variables("/nowhere", 0x40).empty());
}

}  // namespace
}  // namespace dcmt::recorder
