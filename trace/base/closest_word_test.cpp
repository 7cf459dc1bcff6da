#include "trace/base/closest_word.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(ClosestWord, HasTheFewestTypingErrors) {
  const std::vector<std::string> views{"curve", "peak", "live", "saved", "memory"};
  EXPECT_EQ(closest_word("peeak", views), "peak") << "a letter more";
  EXPECT_EQ(closest_word("pek", views), "peak") << "a letter less";
  EXPECT_EQ(closest_word("paek", views), "peak") << "two that changed places";
  EXPECT_EQ(closest_word("mem", views), "memory") << "the begin of it";
  EXPECT_EQ(closest_word("frobnicate", views), "");
  EXPECT_EQ(closest_word("", views), "");
  EXPECT_EQ(closest_word(std::string(1000, 'p'), views), "");
}

TEST(ClosestWord, IsNoneIfHalfOfAShortWordDiffers) {
  EXPECT_EQ(closest_word("x", {"h"}), "");
  EXPECT_EQ(closest_word("cvs", {"csv"}), "csv");
  EXPECT_EQ(closest_word("abc", {"csv"}), "");
}

TEST(ClosestWord, IsASentence) {
  EXPECT_EQ(did_you_mean("peeak", {"peak"}), " Did you mean peak?");
  EXPECT_EQ(did_you_mean("frobnicate", {"peak"}), "");
}

}  // namespace
}  // namespace dcmt
