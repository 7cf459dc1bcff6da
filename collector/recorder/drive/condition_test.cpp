#include "collector/recorder/drive/condition.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

TEST(Condition, SaysWhatIsCountedAndHowMuch) {
  const auto gpu = parse_condition("allocated > 70GiB");
  ASSERT_TRUE(gpu.ok());
  EXPECT_EQ(gpu->what, Counted::kAllocated);
  EXPECT_EQ(gpu->bytes, std::int64_t{70} << 30);
  EXPECT_FALSE(gpu->is_met_by(std::int64_t{70} << 30));
  EXPECT_TRUE(gpu->is_met_by((std::int64_t{70} << 30) + 1));
  EXPECT_EQ(text_of(*gpu), "allocated > 70.0 GiB");

  const auto host = parse_condition("  rss>=1.5 tb ");
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->what, Counted::kResident);
  EXPECT_EQ(host->bytes, 1'500'000'000'000);
  EXPECT_TRUE(host->is_met_by(1'500'000'000'000));

  EXPECT_EQ(parse_condition("reserved > 512")->bytes, 512);
  EXPECT_EQ(parse_condition("reserved > 2K")->bytes, 2048);
  EXPECT_EQ(parse_condition("reserved > 2KB")->bytes, 2000);
}

TEST(Condition, RefusesWhatIsNone) {
  for (const char* text :
       {"", "allocated", "allocated > ", "allocated < 70GiB", "allocated == 3", "memory > 3GiB", "rss > 0", "rss > -3",
        "rss > 3 lots", "rss > 3GiBs", "rss > nan", "rss > inf", "rss > 1e40", "allocated > 70GiB and rss > 3"}) {
    const auto condition = parse_condition(text);
    ASSERT_FALSE(condition.ok()) << text;
    EXPECT_EQ(condition.error().code, ErrorCode::kUsage);
    EXPECT_NE(condition.error().message.find("no condition like"), std::string::npos);
  }
}

}  // namespace
}  // namespace dcmt::recorder
