#include "render/wording/words.h"

#include <gtest/gtest.h>

namespace dcmt::wording {
namespace {

TEST(Words, CutsBetweenCharacters) {
  EXPECT_EQ(cut("kernel", 6), "kernel");
  EXPECT_EQ(cut("kernels", 6), "kernel…");
  EXPECT_EQ(cut("ab→c", 4), "ab…");
}

TEST(Words, HashesAreShortened) {
  EXPECT_EQ(shown_path("/tmp/e7/ce7ijykpxnifi6rekyau6u5xxztuxftz3qamgrik3pnuxeo2he67.py"), "e7/ce7ijykp….py");
  EXPECT_EQ(shown_path("/home/me/project/train_with_a_name_that_is_long_and_no_hash.py"),
            "project/train_with_a_name_that_is_long_and_no_hash.py");
  EXPECT_EQ(shown_path("model.py"), "model.py");
}

TEST(Words, RangesOfIds) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({4}), "4");
  EXPECT_EQ(ranges({1, 0}), "0, 1");
  EXPECT_EQ(ranges({0, 1, 2, 3, 7, 7}), "0 to 3, 7");
  EXPECT_EQ(ranges({0, 2, 4, 6, 8, 10, 12, 20, 21, 22}), "0, 2, 4, 6, 8, 10, 12, 20 to 22");
  EXPECT_EQ(ranges({0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18}), "0 to 2, 4, 6, 8, 10, 12, 14 and 2 more up to 18");
}

TEST(Words, SharesTimesAndSteps) {
  EXPECT_EQ(percent(0.833, 1), "83.3 %");
  EXPECT_EQ(percent(0.833, 0), "83 %");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(5'200'000), "5.2 ms");
  EXPECT_EQ(durations(TimeNs(5'200'000), TimeNs(5'200'000)), "5.2 ms");
  EXPECT_EQ(durations(TimeNs(5'200'000), TimeNs(7'000'000'000)), "5.2 ms to 7.0 s");
  EXPECT_EQ(steps_text({}), "");
  EXPECT_EQ(steps_text({3}), "step 3");
  EXPECT_EQ(steps_text({1, 2, 3}), "steps 1 to 3");
}

TEST(Words, BytesAreRoundedUnlessExactOnesAreAskedFor) {
  EXPECT_EQ(Form{}.bytes(Bytes(12'589'056)), "12.0 MiB");
  EXPECT_EQ(Form{.exact = true}.bytes(Bytes(12'589'056)), "12,589,056 B");
}

}  // namespace
}  // namespace dcmt::wording
