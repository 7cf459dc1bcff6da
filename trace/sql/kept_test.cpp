#include "trace/sql/kept.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(Kept, EveryReasonHasATextAndComesBackFromIt) {
  EXPECT_EQ(text_of(Kept::kAll), "all");
  EXPECT_EQ(text_of(Kept::kSteps), "steps");
  EXPECT_EQ(text_of(Kept::kEvery), "every");
  EXPECT_EQ(text_of(Kept::kPeak), "peak");
  EXPECT_EQ(text_of(Kept::kFinding), "finding");
  EXPECT_EQ(text_of(Kept::kLast), "last");
  for (const Kept kept : {Kept::kAll, Kept::kSteps, Kept::kEvery, Kept::kPeak, Kept::kFinding, Kept::kLast}) {
    EXPECT_EQ(kept_of(text_of(kept)), kept);
  }
}

TEST(Kept, WithoutAReasonThereAreOnlySums) {
  EXPECT_EQ(text_of(Kept::kNo), "");
  EXPECT_EQ(kept_of(""), Kept::kNo);
  EXPECT_EQ(kept_of("of old"), Kept::kNo);
}

}  // namespace
}  // namespace dcmt
