#include "trace/sql/segment_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace dcmt {
namespace {

constexpr std::int64_t kPages = 48;
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kBase = 0x7f0000000000;
constexpr std::int64_t kBefore = 0;
constexpr std::int64_t kLasts = -1;

/// From when to when a page was reserved.
using Stay = std::pair<std::int64_t, std::int64_t>;

enum class Said : std::uint8_t { kBegins, kEnds, kIsThere };

struct Event {
  Said said = Said::kBegins;
  SegmentRow segment;
};

SegmentRow segment_of(std::int64_t first, std::int64_t pages) {
  SegmentRow row;
  row.address = kBase + first * kPage;
  row.bytes = pages * kPage;
  return row;
}

Event random_event(std::mt19937& random, std::uint32_t kinds) {
  const auto first = static_cast<std::int64_t>(random() % kPages);
  const auto pages = 1 + static_cast<std::int64_t>(random()) % std::min<std::int64_t>(12, kPages - first);
  return {static_cast<Said>(random() % kinds), segment_of(first, pages)};
}

bool has(const SegmentRow& segment, std::int64_t page) {
  const std::int64_t at = kBase + page * kPage;
  return segment.address <= at && at < segment.address + segment.bytes;
}

/// The history of a single page, computed from the events alone; they have the sequences 1, 2, ...
struct Page {
  std::multiset<Stay> stays;
  std::int64_t since = kBefore;
  bool touched = false, there = false;

  void see(Said said, std::int64_t at) {
    if (said == Said::kIsThere) {
      if (touched) return;
    } else if (there || (said == Said::kEnds && !touched)) {
      stays.emplace(there ? since : kBefore, at);
    }
    touched = true;
    there = said != Said::kEnds;
    since = said == Said::kBegins ? at : kBefore;
  }
  void end(bool at_end, std::int64_t at) {
    if (there && !at_end) stays.emplace(since, at);
    if (there && at_end) stays.emplace(since, kLasts);
    if (at_end && !there) stays.emplace(touched ? at : kBefore, kLasts);
  }
};

std::vector<std::multiset<Stay>> stays_by_page(const SegmentHistory& history) {
  std::vector<std::multiset<Stay>> found(kPages);
  for (const SegmentRow& row : history.rows()) {
    EXPECT_GT(row.bytes, 0);
    for (std::int64_t at = row.address; at < row.address + row.bytes; at += kPage)
      found[static_cast<std::size_t>((at - kBase) / kPage)].emplace(row.span.from.seq,
                                                                    row.span.to.set() ? row.span.to.seq : kLasts);
  }
  return found;
}

void apply(SegmentHistory& history, const Event& event, std::int64_t at) {
  if (event.said == Said::kBegins) history.begins(event.segment, {at, at});
  if (event.said == Said::kEnds) history.ends(event.segment, {at, at});
  if (event.said == Said::kIsThere) history.is_there(event.segment);
}

TEST(SegmentHistory, IsThatOfEachPageByItself) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<Event> events;
    for (std::size_t i = random() % 40; i > 0; --i) events.push_back(random_event(random, seed % 2 == 0 ? 2 : 3));
    std::vector<SegmentRow> at_end;
    for (std::int64_t page = 0; page < kPages;) {  // apart, or next to each other
      const auto pages = std::min(kPages - page, 1 + static_cast<std::int64_t>(random() % 9));
      if (random() % 2 == 0) at_end.push_back(segment_of(page, pages));
      page += pages;
    }
    SegmentHistory history;
    for (std::size_t i = 0; i < events.size(); ++i) apply(history, events[i], static_cast<std::int64_t>(i) + 1);
    const auto end = static_cast<std::int64_t>(events.size()) + 1;
    history.end_with(at_end, {end, end});

    std::int64_t reserved = 0;
    for (const SegmentRow& each : at_end) reserved += each.bytes;
    EXPECT_EQ(history.bytes(), reserved) << "seed " << seed;
    const std::vector<std::multiset<Stay>> found = stays_by_page(history);
    for (std::int64_t number = 0; number < kPages; ++number) {
      Page page;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (has(events[i].segment, number)) page.see(events[i].said, static_cast<std::int64_t>(i) + 1);
      }
      page.end(std::ranges::any_of(at_end, [&](const SegmentRow& each) { return has(each, number); }), end);
      ASSERT_EQ(found[static_cast<std::size_t>(number)], page.stays) << "seed " << seed << " page " << number;
    }
  }
}

TEST(SegmentHistory, GoesOnWithTheRowsThatLast) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    SegmentHistory whole, first, second;
    for (std::int64_t at = 1; at <= 40; ++at) {
      const Event event = random_event(random, 2);
      // The second part has no events of what ended before: an end in it concerns what was there before.
      if (event.said == Said::kEnds && at > 20) continue;
      apply(whole, event, at);
      apply(at <= 20 ? first : second, event, at);
      if (at != 20) continue;
      for (const SegmentRow& row : first.rows()) {
        if (!row.span.to.set()) second.resume(row);
      }
      EXPECT_EQ(second.bytes(), first.bytes());
    }
    EXPECT_EQ(second.bytes(), whole.bytes());
    for (std::int64_t number = 0; number < kPages; ++number) {
      const auto since = [&](const SegmentHistory& history) {
        std::multiset<std::int64_t> begins;
        for (const SegmentRow& row : history.rows()) {
          if (!row.span.to.set() && has(row, number)) begins.insert(row.span.from.seq);
        }
        return begins;
      };
      ASSERT_EQ(since(second), since(whole)) << "seed " << seed << " page " << number;
    }
  }
}

TEST(SegmentHistory, SaysWhichRowsChanged) {
  SegmentHistory history;
  const auto changed = [&] {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> rows;  // first page, pages, end
    history.each_changed([&](const SegmentRow& row) {
      rows.emplace_back((row.address - kBase) / kPage, row.bytes / kPage, row.span.to.seq);
    });
    return rows;
  };
  history.begins(segment_of(0, 4), {1, 1});
  history.begins(segment_of(8, 2), {2, 2});
  EXPECT_EQ(changed().size(), 2U);
  EXPECT_TRUE(changed().empty());
  history.ends(segment_of(1, 1), {3, 3});  // in the middle
  auto rows = changed();
  std::ranges::sort(rows);
  EXPECT_EQ(rows, (std::vector{std::tuple<std::int64_t, std::int64_t, std::int64_t>{0, 1, 0}, {1, 1, 3}, {2, 2, 0}}));
}

TEST(SegmentHistory, ThatAgreesWithTheEndHasNoContradictions) {
  SegmentHistory history;
  const auto parts = [](std::int64_t first, std::int64_t pages) {
    SegmentRow row = segment_of(first, pages);
    row.expandable = true;
    return row;
  };
  history.begins(parts(0, 2), {1, 1});
  history.begins(parts(2, 4), {2, 2});
  history.ends(parts(4, 2), {3, 3});
  history.ends(segment_of(10, 3), {4, 4});
  SegmentRow before = segment_of(20, 1);
  before.stream = 7;
  history.end_with(std::vector{parts(0, 4), before}, {5, 5});
  EXPECT_EQ(history.contradictions(), 0);
  ASSERT_EQ(history.rows().size(), 5U);
  EXPECT_TRUE(history.rows()[0].expandable);
  const SegmentRow& freed = history.rows()[3];
  EXPECT_EQ(std::tuple(freed.address, freed.span.from.seq, freed.span.to.seq), std::tuple(kBase + 10 * kPage, 0, 4));
  EXPECT_FALSE(history.rows()[4].span.from.set());
  EXPECT_EQ(history.rows()[4].stream, 7);

  history.ends(segment_of(10, 3), {6, 6});  // a second time
  EXPECT_EQ(history.contradictions(), 1);
  history.begins(segment_of(20, 1), {7, 7});  // an existing segment
  EXPECT_EQ(history.contradictions(), 2);
}

}  // namespace
}  // namespace dcmt
