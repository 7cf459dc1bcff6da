#include "analyzer/source/common_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcmt::analyzer {
namespace {

TEST(Links, AReferenceThatIsRepeatedIsOneLink) {
  EXPECT_EQ(without_links("main: head.before.before.value"), "main: head.before….value");
  EXPECT_EQ(without_links("main: head.before.before.before.before.value"), "main: head.before….value");
  EXPECT_EQ(without_links("main: self.last[1][1][1][0]"), "main: self.last[1]…[0]");
  EXPECT_EQ(without_links("program.head['a.b']['a.b']"), "program.head['a.b']…");
  EXPECT_EQ(without_links("main: a.next.item.next.item.value"), "main: a.next.item….value")
      << "by way of another object";
}

TEST(Links, OfAnObjectOfCTheChainIsWhatTheVariableHas) {
  EXPECT_EQ(without_links("main: stream.preview (ahead) (next) (next) (next)"), "main: stream.preview");
  EXPECT_EQ(without_links("main: run (app.py:3): rows (ahead)"), std::nullopt);
}

TEST(Links, OtherPathsHaveNone) {
  for (const char* path : {"", "main: x", "main: kept[0]", "main: a.b.c.b", "main.main", "main: x[1][2][3]", "a: b: c",
                           "main: [", "main: x['", "main: x."}) {
    EXPECT_EQ(without_links(path), std::nullopt) << path;
  }
  EXPECT_EQ(without_links("a.b.c.d.b.c.d"), "a.b.c.d…") << "three references are a link";
  EXPECT_EQ(without_links("a.b.c.d.e.b.c.d.e"), std::nullopt) << "four are not";
}

CommonNames names_of(const std::vector<std::string>& paths) {
  CommonNames names;
  for (const std::string& path : paths) names.add(path);
  names.complete();
  return names;
}

TEST(CommonNames, TheFirstObjectsOfAChainHaveItsName) {
  const CommonNames names = names_of({"main: other.value", "main: head.before.before.value"});
  for (const char* path : {"main: head.value", "main: head.before.value", "main: head.before.before.before.value"}) {
    EXPECT_EQ(names.of(path), "main: head.before….value") << path;
  }
  EXPECT_EQ(names.of("main: other.value"), "main: other.value");
}

TEST(CommonNames, AChainMayHaveTwoObjects) {
  const CommonNames names = names_of({"main: head.value", "main: head.before.value", "main: x", "main: x.y"});
  EXPECT_EQ(names.of("main: head.value"), "main: head.before….value");
  EXPECT_EQ(names.of("main: head.before.value"), "main: head.before….value");
  EXPECT_EQ(names.of("main: x.y"), "main: x.y") << "its value, and something in it";
}

TEST(CommonNames, NumbersInTheNamesOfAttributesDiffer) {
  const CommonNames names =
      names_of({"main: net.cache_0", "main: net.cache_1", "main: net.stat_0", "main: head[1][1][0]"});
  EXPECT_EQ(names.of("main: net.cache_0"), "main: net.cache_[*]");
  EXPECT_EQ(names.of("main: net.cache_7"), "main: net.cache_[*]");
  EXPECT_EQ(names.of("main: net.stat_0"), "main: net.stat_0") << "there is one of these";
  EXPECT_EQ(names.of("main: head[1][1][1][0]"), "main: head[1]…[0]");
}

TEST(CommonNames, ACircleOfClassesIsOneThroughAnyEntry) {
  const CommonNames names = names_of({"cycle A.rows → list[0] → B.a → A", "cycle A.rows → list[1] → B.a → A"});
  EXPECT_EQ(names.of("cycle A.rows → list[1] → B.a → A"), "cycle A.rows → list[*] → B.a → A");
  EXPECT_EQ(names_of({"cycle list[0] → list"}).of("cycle list[0] → list"), "cycle list[0] → list");
}

TEST(CommonNames, NumbersOfEntriesAndLinesStay) {
  const CommonNames names = names_of({"main: spans[12].f (a.py:50): x", "main: spans[13].f (a.py:49): x"});
  EXPECT_EQ(names.of("main: spans[12].f (a.py:50): x"), "main: spans[12].f (a.py:50): x");
}

}  // namespace
}  // namespace dcmt::analyzer
