#include "cli/text.h"

#include <gtest/gtest.h>

namespace dcmt::cli {
namespace {

TEST(Text, ColourOnlyWhereAsked) {
  EXPECT_EQ(Style{}.bad("x"), "x");
  EXPECT_EQ(Style{true}.bad("x"), "\x1b[1;31mx\x1b[0m");
}

TEST(Text, BytesAreRoundedUnlessExactOnesAreAskedFor) {
  EXPECT_EQ(Style{}.bytes(Bytes(12'589'056)), "12.0 MiB");
  EXPECT_EQ((Style{false, true, 0}.bytes(Bytes(12'589'056))), "12,589,056 B");
}

TEST(Text, LongLinesGoOnBelowTheirText) {
  const Style narrow{false, false, 30};
  EXPECT_EQ(folded("short\n   held by     main: a.b\n", narrow), "short\n   held by     main: a.b\n");
  EXPECT_EQ(folded("  of it   one two three four five six", narrow),
            "  of it   one two three four\n"
            "          five six");
  EXPECT_EQ(folded("note: one two three four five six seven\n", narrow),
            "note: one two three four five\n"
            "      six seven\n");
  EXPECT_EQ(folded("a word that is ever-so-very-long-and-has-no-space", narrow),
            "a word that is\n"
            "ever-so-very-long-and-has-no-s\n"
            "pace");
  EXPECT_EQ(folded("\x1b[1mone two three four five six seven\x1b[0m", narrow),
            "\x1b[1mone two three four five six\nseven\x1b[0m")
      << "colours have no width";
  EXPECT_EQ(folded(std::string(200, 'x'), Style{}).size(), 200u) << "no terminal, no limit";
}

TEST(Text, TheLastColumnOfATableIsWrapped) {
  Table table({"bytes", "held by"}, {true, false});
  table.add({"1.0 MiB", "main: one two three four five six"});
  EXPECT_EQ(table.text(Style{false, false, 36}, "  "),
            "    bytes  held by\n"
            "  1.0 MiB  main: one two three four\n"
            "           five six\n");
  EXPECT_EQ(table.text(Style{}, "  "), "    bytes  held by\n  1.0 MiB  main: one two three four five six\n");
}

}  // namespace
}  // namespace dcmt::cli
