#include "render/load/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"
#include "render/load/session.h"
#include "render/scene/raster.h"
#include "trace/base/quantities.h"
#include "trace/sql/database.h"

namespace dcmt::load {
namespace {

constexpr scene::Address kBase = 0x7f0000000000;

struct Row {
  std::int64_t slot = 0, from = 0, to = 0;  ///< `to` 0: never freed
};

/// Segments of one MiB in slots of two MiB, at most one per slot at a time. Some exist before the first record.
std::vector<Row> random_rows(std::mt19937& random, std::int64_t last_seq) {
  std::vector<Row> rows;
  for (std::int64_t slot = 0; slot < 12; ++slot) {
    std::int64_t at = random() % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(random()) % last_seq;
    while (at < last_seq) {
      const std::int64_t to = at + 1 + static_cast<std::int64_t>(random()) % 40;
      rows.push_back({slot, at, to < last_seq ? to : 0});
      at = to + static_cast<std::int64_t>(random()) % 20;
    }
  }
  return rows;
}

/// Reserved bytes right after each record, by its sequence.
std::vector<std::int64_t> reserved_after(const std::vector<Row>& rows, std::int64_t last_seq) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(last_seq) + 1);
  for (const Row& row : rows) {
    for (std::int64_t seq = row.from; seq < (row.to == 0 ? last_seq + 1 : row.to); ++seq)
      bytes[static_cast<std::size_t>(seq)] += kMiB;
  }
  return bytes;
}

/// A trace of one GPU with such segments, opened.
std::shared_ptr<Session> opened(testing::TestTrace& trace, const std::vector<Row>& rows, bool expandable) {
  const std::string path = trace.save();
  auto database = Database::open(path, OpenMode::kReadWrite);
  EXPECT_TRUE(database.ok());
  std::string sql = "BEGIN;";
  for (const Row& row : rows) {
    const scene::Address address = kBase + static_cast<scene::Address>(row.slot * (expandable ? 1 : 2) * kMiB);
    const std::string to = row.to == 0 ? "NULL" : std::to_string(row.to);
    sql += "INSERT INTO segment(gpu, address, bytes, stream, expandable, from_seq, to_seq, from_ns, to_ns) VALUES(0, " +
           std::to_string(address) + ", " + std::to_string(kMiB) + ", 0, " + std::to_string(expandable ? 1 : 0) + ", " +
           std::to_string(row.from) + ", " + to + ", " + std::to_string(row.from) + ", " + to + ");";
  }
  EXPECT_TRUE(database->execute((sql + "COMMIT").c_str()).ok());
  auto session = open_session(path);
  EXPECT_TRUE(session.ok());
  return session.ok() ? *session : nullptr;
}

void random_blocks(testing::TestTrace& trace, std::mt19937& random) {
  trace.gpu = 0;
  std::vector<testing::TestTrace::Handle> alive;
  for (int i = 0; i < 60; ++i) {
    if (!alive.empty() && random() % 2 == 0) {
      trace.drop(alive.back());
      alive.pop_back();
    } else {
      alive.push_back(trace.allocate(1 + static_cast<std::int64_t>(random() % 4096)));
    }
    if (random() % 3 == 0) trace.lose();  // a record that is not the begin or end of a block
  }
}

TEST(Segments, ReservedBytesAreThoseOfEachRecord) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    testing::TestTrace trace;
    random_blocks(trace, random);
    const std::int64_t last = trace.last_seq();
    const std::vector<Row> rows = random_rows(random, last);
    const std::vector<std::int64_t> reserved = reserved_after(rows, last);
    const std::shared_ptr<Session> session = opened(trace, rows, seed % 2 == 0);
    ASSERT_NE(session, nullptr);
    const DeviceTimeline& device = *session->devices.front();
    ASSERT_TRUE(device.has_segments());
    for (scene::Unit unit = 0; unit < device.recording().units(); ++unit) {
      std::int64_t bytes = 0;
      for (const scene::AddressStretch& each : device.segments_at(unit)) bytes += each.bytes();
      EXPECT_EQ(bytes, reserved[static_cast<std::size_t>(device.sequence_of(unit).value)])
          << "seed " << seed << " unit " << unit;
    }
    scene::Appearance appearance;
    appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
    appearance.height = 700;
    scene::Painter painter;
    for (const int width : {260, 300, 900}) {
      appearance.width = width;
      const scene::View view(device.recording(), scene::Axis::kEvents);
      scene::Raster raster;
      raster.begin(appearance.width, appearance.height, appearance.theme->background);
      const scene::Facts& facts = painter.draw(device.document(), view, appearance, raster);
      ASSERT_EQ(facts.reserved.size(), facts.columns.size());
      for (std::size_t at = 0; at < facts.columns.size(); ++at) {
        const scene::Unit end = facts.columns[at].to;
        const std::int64_t until = end < device.recording().units() ? device.sequence_of(end).value : last + 1;
        std::int64_t most = 0;
        for (std::int64_t seq = device.sequence_of(facts.columns[at].from).value; seq < until; ++seq)
          most = std::max(most, reserved[static_cast<std::size_t>(seq)]);
        EXPECT_EQ(facts.reserved[at], most) << "seed " << seed << " column " << at << " of " << width;
      }
    }
  }
}

TEST(Segments, PartsOfAnExpandableOneThatLieSideBySideAreOne) {
  const std::vector<Segment> segments{{{kBase + 2 * kMiB, kBase + 3 * kMiB}, true, Sequence(4), {}},
                                      {{kBase, kBase + kMiB}, true, {}, {}},
                                      {{kBase + kMiB, kBase + 2 * kMiB}, true, Sequence(2), Sequence(6)},
                                      {{kBase + 3 * kMiB, kBase + 4 * kMiB}, false, Sequence(3), {}}};
  const auto sizes = [&](std::int64_t seq) {
    std::vector<std::int64_t> found;
    for (const scene::AddressStretch& each : segments_after(segments, Sequence(seq)))
      found.push_back(each.bytes() / kMiB);
    return found;
  };
  EXPECT_EQ(sizes(0), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(sizes(2), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(sizes(4), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(sizes(6), (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(Segments, ATraceWithoutTheTableHasNone) {
  testing::TestTrace trace;
  trace.gpu = 0;
  trace.allocate(100);
  const std::string path = trace.save();
  ASSERT_TRUE(Database::open(path, OpenMode::kReadWrite)->execute("DROP TABLE segment; PRAGMA user_version = 9").ok());
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_FALSE((*session)->devices.front()->has_segments());
}

}  // namespace
}  // namespace dcmt::load
