#include "render/scene/addresses.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "render/scene/lanes.h"
#include "render/scene/testing.h"

namespace dcmt::scene {
namespace {

using testing::random_below;

/// Places lifetimes like an allocator: without overlaps, by first fit in a few segments; a few have no address.
std::vector<Address> placed(std::mt19937& random, const Recording& recording, bool damaged) {
  std::vector<Address> addresses(recording.lifetimes().size());
  std::map<Address, Address> used;  // begin to end
  for (Unit unit = 0; unit < recording.units(); ++unit) {
    const Recording::Event event = recording.event(unit);
    const bool begins = event.kind == Recording::Kind::kBegin;
    if (!begins && event.kind != Recording::Kind::kEnd) continue;
    if (!begins) {
      used.erase(addresses[event.index]);
    } else if (random_below(random, 20) > 0) {
      const auto bytes = static_cast<Address>(recording.lifetimes()[event.index].bytes);
      Address at = 0x10000000 + static_cast<Address>(random_below(random, 4)) * (kStretchGap + 900'000);
      for (const auto& [from, to] : used) {
        if (to > at && from < at + bytes) at = to;
      }
      if (damaged && random_below(random, 10) == 0 && !used.empty()) at = used.begin()->first;
      addresses[event.index] = at;
      used[at] = at + bytes;
    }
  }
  return addresses;
}

TEST(Addresses, LanesAreInTheOrderOfAddressesAndApartInTime) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = testing::random_recording(random, 10 + random_below(random, 600), 3);
    const std::vector<Lifetime>& lifetimes = recording.lifetimes();
    const bool damaged = seed % 4 == 3;
    const std::vector<Address> addresses = placed(random, recording, damaged);
    const std::vector<AddressStretch> places = address_stretches(recording, addresses);
    const AddressLanes found = address_lanes(recording, addresses, places);
    const Lanes lanes(recording, found.lane_of, found.lanes_of_each);
    ASSERT_EQ(lanes.bands().size(), places.size());
    std::size_t in_lanes = 0;
    for (const Lanes::Band& band : lanes.bands()) in_lanes += band.lifetimes;
    std::size_t known = 0;
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      ASSERT_EQ(found.lane_of[i] == kNoLane, addresses[i] == 0);
      if (addresses[i] == 0) continue;
      ++known;
      const AddressStretch& stretch = places[stretch_of(places, addresses[i])];
      EXPECT_GE(addresses[i], stretch.from);
      EXPECT_LE(addresses[i] + static_cast<Address>(lifetimes[i].bytes), stretch.to);
      EXPECT_EQ(lanes.band_of(found.lane_of[i]), stretch_of(places, addresses[i]));
      for (std::size_t j = 0; j < i; ++j) {
        if (addresses[j] == 0) continue;
        const bool together = lifetimes[j].to > lifetimes[i].from && lifetimes[j].from < lifetimes[i].to;
        if (found.lane_of[i] == found.lane_of[j]) {
          EXPECT_FALSE(together) << "seed " << seed;
        } else if (addresses[i] != addresses[j]) {
          EXPECT_EQ(found.lane_of[i] < found.lane_of[j], addresses[i] < addresses[j]) << "seed " << seed;
        } else {
          EXPECT_TRUE(damaged) << "one address, one lane; seed " << seed;
        }
      }
    }
    EXPECT_EQ(in_lanes, known);
    for (std::size_t i = 1; i < places.size(); ++i)
      EXPECT_GE(places[i].from - places[i - 1].to, static_cast<Address>(kStretchGap));
  }
}

TEST(Addresses, GapsOfAPointAreThoseBetweenItsBlocks) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = testing::random_recording(random, 10 + random_below(random, 300), 3);
    const std::vector<Address> addresses = placed(random, recording, seed % 4 == 3);
    const std::vector<AddressStretch> places = address_stretches(recording, addresses);
    for (int i = 0; i < 10; ++i) {
      const auto unit = static_cast<Unit>(random_below(random, static_cast<int>(recording.units())));
      const std::vector<StretchAt> all = stretches_at(recording, addresses, places, unit);
      ASSERT_EQ(all.size(), places.size());
      std::multiset<LifetimeId> seen;
      for (const StretchAt& each : all) {
        // Checking each byte would be slow, so only points are checked at which something begins or ends.
        std::set<Address> points{each.addresses.from, each.addresses.to};
        for (const LifetimeId id : each.live) {
          seen.insert(id);
          points.insert(addresses[id]);
          points.insert(addresses[id] + static_cast<Address>(recording.lifetimes()[id].bytes));
        }
        std::int64_t used = 0;
        std::int64_t gap = 0;
        std::int64_t largest = 0;
        for (auto at = points.begin(); std::next(at) != points.end(); ++at) {
          const auto length = static_cast<std::int64_t>(*std::next(at) - *at);
          const bool in_one = std::ranges::any_of(each.live, [&](LifetimeId id) {
            return addresses[id] <= *at && *at < addresses[id] + static_cast<Address>(recording.lifetimes()[id].bytes);
          });
          used += in_one ? length : 0;
          gap = in_one ? 0 : gap + length;
          largest = std::max(largest, gap);
        }
        EXPECT_EQ(each.used, used) << "seed " << seed;
        EXPECT_EQ(each.largest_gap, largest) << "seed " << seed;
      }
      std::multiset<LifetimeId> alive;
      for (std::size_t id = 0; id < recording.lifetimes().size(); ++id) {
        const Lifetime& of = recording.lifetimes()[id];
        if (addresses[id] != 0 && of.from <= unit && unit < of.to) alive.insert(static_cast<LifetimeId>(id));
      }
      EXPECT_EQ(seen, alive);
    }
  }
}

/// Segments, disjoint or adjacent, over the addresses of blocks and beyond.
std::vector<AddressStretch> random_segments(std::mt19937& random) {
  std::vector<AddressStretch> segments;
  Address at = 0x10000000 - 5'000'000;
  while (segments.size() < 30) {
    at += random_below(random, 2) == 0 ? 0 : static_cast<Address>(random_below(random, 3'000'000));
    const Address end = at + 1 + static_cast<Address>(random_below(random, 700'000));
    segments.push_back({at, end});
    at = end;
  }
  return segments;
}

TEST(Addresses, OfAPointEachSegmentHasItsBlocksAndGaps) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = testing::random_recording(random, 10 + random_below(random, 300), 3);
    const std::vector<Address> addresses = placed(random, recording, seed % 4 == 3);
    const std::vector<AddressStretch> ever = random_segments(random);
    std::vector<AddressStretch> reserved;
    for (const AddressStretch& each : ever) {
      if (random_below(random, 3) > 0) reserved.push_back(each);
    }
    const std::vector<AddressStretch> stretches = address_stretches(recording, addresses, ever);
    const auto unit = static_cast<Unit>(random_below(random, static_cast<int>(recording.units())));
    const std::vector<StretchAt> all = stretches_at(recording, addresses, stretches, unit, reserved);
    const std::vector<const Occupied*> segments = occupied(all);
    ASSERT_EQ(segments.size(), reserved.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const AddressStretch& of = segments[i]->addresses;
      EXPECT_EQ(std::pair(of.from, of.to), std::pair(reserved[i].from, reserved[i].to)) << "in order";
      const AddressStretch& in = stretches[stretch_of(stretches, of.from)];
      EXPECT_TRUE(in.from <= of.from && of.to <= in.to);
      std::set<Address> points{of.from, of.to};
      std::vector<std::pair<Address, Address>> blocks;
      for (std::size_t id = 0; id < addresses.size(); ++id) {
        const Lifetime& lifetime = recording.lifetimes()[id];
        if (addresses[id] == 0 || lifetime.from > unit || unit >= lifetime.to) continue;
        const Address from = std::max(of.from, addresses[id]);
        const Address to = std::min(of.to, addresses[id] + static_cast<Address>(lifetime.bytes));
        if (from >= to) continue;
        blocks.emplace_back(from, to);
        points.insert({from, to});
      }
      std::int64_t used = 0;
      std::int64_t gap = 0;
      std::int64_t largest = 0;
      for (auto at = points.begin(); std::next(at) != points.end(); ++at) {
        const auto length = static_cast<std::int64_t>(*std::next(at) - *at);
        const bool in_one = std::ranges::any_of(blocks, [&](auto& b) { return b.first <= *at && *at < b.second; });
        used += in_one ? length : 0;
        gap = in_one ? 0 : gap + length;
        largest = std::max(largest, gap);
      }
      EXPECT_EQ(segments[i]->used, used) << "seed " << seed;
      EXPECT_EQ(segments[i]->largest_gap, largest) << "seed " << seed;
      EXPECT_EQ(segments[i]->live.size(), blocks.size()) << "seed " << seed;
    }
  }
}

TEST(Addresses, WhereSegmentsAreKnownAndNoneIsReservedThereIsNone) {
  Recording recording;
  recording.begin(1, 4096, 0, 0);
  recording.finish(3);
  const std::vector<Address> addresses{0x10000000};
  const std::vector<AddressStretch> stretches = address_stretches(recording, addresses);
  EXPECT_EQ(occupied(stretches_at(recording, addresses, stretches, 0)).size(), 1U);
  const auto known = stretches_at(recording, addresses, stretches, 0, std::vector<AddressStretch>());
  EXPECT_TRUE(known.front().segments);
  EXPECT_TRUE(occupied(known).empty());
}

TEST(Addresses, BeyondAllOfThemThereIsNone) {
  Recording recording;
  recording.begin(1, 4096, 0, 0);
  recording.begin(2, 4096, 0, 0);
  recording.finish(3);
  const std::vector<Address> addresses{~Address{0} - 10, ~Address{0} - 5};
  const std::vector<AddressStretch> places = address_stretches(recording, addresses);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].to, ~Address{0});
  EXPECT_EQ(stretches_at(recording, addresses, places, 1).front().used, 10);
}

}  // namespace
}  // namespace dcmt::scene
