#include "analyzer/gate/allowance.h"

#include <gtest/gtest.h>

namespace dcmt::gate {
namespace {

TEST(Allowance, BytesOrAShare) {
  EXPECT_EQ(Allowance::named("64KiB")->bytes, 65536);
  EXPECT_EQ(Allowance::named("1.5 MiB")->bytes, 3 << 19);
  EXPECT_EQ(Allowance::named("4096")->bytes, 4096);
  EXPECT_DOUBLE_EQ(Allowance::named("0.5%")->share, 0.005);
  for (const char* wrong : {"", "%", "-1%", "1 furlong", "nan", "1e40", "64KiB!"}) {
    EXPECT_FALSE(Allowance::named(wrong)) << wrong;
  }
}

TEST(Allowance, AShareOfNothingIsOneOfTheHighestPeak) {
  Section section;
  section.facts.resize(2);
  section.facts[0].name = "peak.forward";
  section.facts[0].value = 1000;
  section.facts[1].name = "peak.backward";
  section.facts[1].value = 4000;
  const Allowance percent{0, 0.01};
  EXPECT_EQ(percent.of(1000, section), 10);
  EXPECT_EQ(percent.of(0, section), 40);
  EXPECT_EQ((Allowance{64, 0}).of(1000, section), 64);
}

}  // namespace
}  // namespace dcmt::gate
