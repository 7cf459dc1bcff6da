// Tests the clock against synthetic counters with known times.
#include "collector/recorder/decode/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace dcmt::recorder {
namespace {

using Outcome = ClockFit::Outcome;

constexpr std::uint64_t kHz = 2'500'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

/// A monotonic clock as a function of seconds on the cycle counter, which starts at 7e12.
using Truth = std::function<double(double seconds)>;

ClockReading read(const Truth& truth, double seconds) {
  return {7'000'000'000'000 + static_cast<std::uint64_t>(seconds * static_cast<double>(kHz)),
          static_cast<std::uint64_t>(truth(seconds))};
}

double ideal(double seconds) { return 1e12 + seconds * 1e9; }

/// Simulates `seconds` with a reading every `every`; returns the largest error of the times in between.
std::int64_t follow(ClockFit& fit, const Truth& truth, double seconds, double every) {
  std::int64_t worst = 0;
  for (double at = 0; at < seconds; at += every) {
    const Outcome outcome = fit.add(read(truth, at));
    EXPECT_EQ(outcome, Outcome::kUsed) << "at " << at;
    for (const double share : {0.1, 0.5, 0.9}) {
      const ClockReading now = read(truth, at + share * every);
      worst = std::max(worst, std::abs(fit.ns(now.tsc) - static_cast<std::int64_t>(now.ns)));
    }
  }
  return worst;
}

TEST(ClockFit, AnEvenClockHasNoError) {
  ClockFit fit(kHz, read(ideal, 0));
  EXPECT_LE(follow(fit, ideal, 100, 0.7), 2);
  EXPECT_LE(fit.error_ns(), 2);
  EXPECT_EQ(fit.readings(), 143);
}

TEST(ClockFit, AFirstRateThatIsWrongIsCorrectedAndItsErrorKept) {
  ClockFit fit(kHz + kHz / 1000, read(ideal, 0));
  fit.add(read(ideal, 0.005));
  fit.add(read(ideal, 1));
  EXPECT_NEAR(static_cast<double>(fit.error_ns()), 994e3, 2e3) << "a thousandth of 0.995 s";
  const std::int64_t error = fit.error_ns();
  EXPECT_LE(follow(
                fit, [](double s) { return ideal(s + 1.001); }, 0, 1),
            2);
  fit.add(read(ideal, 2));
  EXPECT_EQ(fit.error_ns(), error);
}

TEST(ClockFit, ASlewedClockIsFollowedPieceByPiece) {
  // The rate swings by 200 millionths every two minutes: up to 3.8 ms from any straight line.
  const Truth slewed = [](double s) {
    return ideal(s) + 200e-6 * 1e9 * 120 / 6.2831853 * std::sin(s / 120 * 6.2831853);
  };
  ClockFit fit(kHz, read(slewed, 0));
  const std::int64_t worst = follow(fit, slewed, 600, 0.5);
  EXPECT_LE(worst, 110'000);
  EXPECT_GE(fit.error_ns(), worst * 9 / 10) << "the stored error covers what was seen in between";
}

TEST(ClockFit, ASuspensionIsAJumpAndTheLineBeginsAnew) {
  // The counter runs for an hour during which the monotonic clock stands still.
  const Truth suspended = [](double s) { return ideal(s < 50 ? s : std::max(50.0, s - 3600)); };
  ClockFit fit(kHz, read(suspended, 0));
  EXPECT_LE(follow(fit, suspended, 50, 1), 2);
  EXPECT_EQ(fit.add(read(suspended, 3651)), Outcome::kJumped);
  EXPECT_NEAR(static_cast<double>(fit.jump_ns()), 3600e9, 1e3);
  const ClockReading later = read(suspended, 3651.5);
  EXPECT_NEAR(static_cast<double>(fit.ns(later.tsc)), static_cast<double>(later.ns), 100);
  EXPECT_EQ(fit.add(read(suspended, 3652)), Outcome::kUsed);
  EXPECT_LE(fit.error_ns(), 100) << "a jump is no error of the line";
}

TEST(ClockFit, ACounterThatBeginsAnewIsAJump) {
  ClockFit fit(kHz, read(ideal, 0));
  follow(fit, ideal, 20, 1);
  ClockReading reset = read(ideal, 25);
  reset.tsc = 1000;
  EXPECT_EQ(fit.add(reset), Outcome::kJumped);
  EXPECT_EQ(fit.ns(1000 + kHz), static_cast<std::int64_t>(reset.ns + kSecond));
}

TEST(ClockFit, AnotherRateIsNoticed) {
  const Truth moved = [](double s) { return ideal(s < 60 ? s : 60 + (s - 60) * 1.02); };
  ClockFit fit(kHz, read(moved, 0));
  bool noticed = false;
  for (double at = 0; at < 120; at += 0.01) {
    const Outcome outcome = fit.add(read(moved, at));
    ASSERT_NE(outcome, Outcome::kJumped) << "at " << at;
    if (outcome == Outcome::kNewRate) {
      noticed = true;
      EXPECT_GE(at, 60);
      EXPECT_GT(fit.rate_change_ppm(), 1000);
    }
  }
  EXPECT_TRUE(noticed);
  const ClockReading later = read(moved, 121);
  EXPECT_NEAR(static_cast<double>(fit.ns(later.tsc)), static_cast<double>(later.ns), 1e3);
}

TEST(ClockFit, ReadingsOutOfOrderAndNonsenseAreLeftAlone) {
  ClockFit fit(kHz, read(ideal, 0));
  follow(fit, ideal, 5, 1);
  EXPECT_EQ(fit.add(read(ideal, 3.5)), Outcome::kEarlier);
  EXPECT_EQ(fit.add({read(ideal, 6).tsc, 5}), Outcome::kNonsense);
  EXPECT_EQ(fit.add({0, 0}), Outcome::kNonsense);
  EXPECT_EQ(fit.add({1, ~std::uint64_t{0}}), Outcome::kNonsense);
  EXPECT_EQ(fit.readings(), 5);
  const ClockReading later = read(ideal, 6);
  EXPECT_EQ(fit.ns(later.tsc), static_cast<std::int64_t>(later.ns));
}

TEST(ClockFit, AnOwnReadingAgreesOnlyIfItIsOfTheSameClock) {
  ClockFit fit(kHz, read(ideal, 0));
  EXPECT_TRUE(fit.agrees(read(ideal, 2)));
  EXPECT_FALSE(fit.agrees(read([](double s) { return ideal(s) + 3e9; }, 2)));
}

TEST(ClockFit, GarbledCountersStayWithinTheirType) {
  ClockFit fit(0, {~std::uint64_t{0}, ~std::uint64_t{0}});
  for (const std::uint64_t tsc : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{4'000'000'000'000'000'000}, ~std::uint64_t{0}}) {
      fit.add({tsc, ns});
      EXPECT_GE(fit.ns(0), 0);
      EXPECT_GE(fit.ns(~std::uint64_t{0}), 0);
      EXPECT_GE(fit.error_ns(), 0);
    }
  }
}

}  // namespace
}  // namespace dcmt::recorder
