#include "cli/text.h"

#include <gtest/gtest.h>

#include "cli/command_table.h"

namespace dcmt::cli {
namespace {

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(cut("kernel", 6), "kernel");
  EXPECT_EQ(cut("kernels", 6), "kernel…");
  EXPECT_EQ(cut("ab→c", 4), "ab…");
}

TEST(Text, HashesAreShortened) {
  EXPECT_EQ(shown_path("/tmp/e7/ce7ijykpxnifi6rekyau6u5xxztuxftz3qamgrik3pnuxeo2he67.py"), "e7/ce7ijykp….py");
  EXPECT_EQ(shown_path("/home/me/project/train_with_a_name_that_is_long_and_no_hash.py"),
            "project/train_with_a_name_that_is_long_and_no_hash.py");
  EXPECT_EQ(shown_path("model.py"), "model.py");
}

TEST(Text, NumbersAsAPersonReadsThem) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(12'589'056), "12,589,056");
  EXPECT_EQ(grouped(-1'234), "-1,234");
  EXPECT_EQ(exact_bytes(1'048'584), "1,048,584 B");
  EXPECT_EQ(rounded_bytes(1023), "1,023 B");
  EXPECT_EQ(rounded_bytes(2'097'168), "2.0 MiB");
  EXPECT_EQ(rounded_bytes(1'048'575), "1.0 MiB");
  EXPECT_EQ(percent(0.833, 1), "83.3 %");
  EXPECT_EQ(percent(0.833, 0), "83 %");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(5'200'000), "5.2 ms");
  EXPECT_EQ(counted(1, "release"), "1 release");
  EXPECT_EQ(counted(1200, "census", "censuses"), "1,200 censuses");
}

TEST(Text, RangesOfIds) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({4}), "4");
  EXPECT_EQ(ranges({1, 0}), "0, 1");
  EXPECT_EQ(ranges({0, 1, 2, 3, 7, 7}), "0 to 3, 7");
  EXPECT_EQ(ranges({0, 2, 4, 6, 8, 10, 12, 20, 21, 22}), "0, 2, 4, 6, 8, 10, 12, 20 to 22");
  EXPECT_EQ(ranges({0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18}), "0 to 2, 4, 6, 8, 10, 12, 14 and 2 more up to 18");
}

TEST(Text, PaddingCountsCharactersNotBytes) {
  EXPECT_EQ(width("≤ 3 µs"), 6u);
  EXPECT_EQ(left("→", 3), "→  ");
  EXPECT_EQ(right("→", 3), "  →");
}

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

TEST(Commands, TheClosestIsSuggested) {
  EXPECT_EQ(closest_command("reprot"), "report");
  EXPECT_EQ(closest_command("shwo"), "show");
  EXPECT_EQ(closest_command("frobnicate"), "");
}

}  // namespace
}  // namespace dcmt::cli
