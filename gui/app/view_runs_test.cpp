// Tests ranks, two runs, and traces that change while they are open.
#include <gtest/gtest.h>

#include <QTableView>

#include <filesystem>
#include <fstream>

#include "gui/app/view_testing.h"
#include "gui/models/words.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "render/load/testing.h"

namespace dcmt::gui {
namespace {

using testing::kBytes;
using testing::kPatienceMs;
using testing::TestTrace;
using testing::two_steps;
using testing::ViewTest;

/// Two ranks in one folder. The second keeps what it gathers.
class RanksViewTest : public ViewTest {
 protected:
  RanksViewTest() {
    other_.meta_integers["rank"] = 1;
    for (std::int64_t step = 1; step <= 2; ++step) {
      other_.phase("forward", [&] { dcmt::testing::add_zero3_graph(other_, 4, kBytes, true); });
      other_.step(step);
    }
    std::filesystem::rename(other_.save(), trace_.folder() / "rank1.dcmt");
    folder_ = QString::fromStdString(trace_.folder().string());
  }
  void open_settled(const QString& path) {
    QSignalSpy settled(&window_, &MainWindow::settled);
    window_.open(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !settled.isEmpty(); }, kPatienceMs));
  }

  TestTrace other_;
  QString folder_;
};

TEST_F(RanksViewTest, AFolderShowsItsRanksOnOneClock) {
  open_settled(folder_);
  ASSERT_NE(window_.ranks(), nullptr);
  EXPECT_EQ(table("ranks").rowCount(), 2);
  EXPECT_GT(table("rank_differences").rowCount(), 1);
  StripChart& chart = window_.rank_panel().chart();
  EXPECT_EQ(chart.current(), 0U);
  EXPECT_TRUE(chart.accessibleDescription().contains("rank 1: peak"));
  // A click on the other rank's curve opens that rank; the loaded data of the ranks stays.
  const load::Ranks* before = window_.ranks();
  ASSERT_EQ(chart.facts().rows.size(), 2U);
  const scene::Box row = chart.facts().rows[1];
  QSignalSpy settled(&window_, &MainWindow::settled);
  const double ratio = chart.devicePixelRatioF();
  QTest::mouseClick(&chart, Qt::LeftButton, {},
                    {static_cast<int>(row.width / ratio / 2), static_cast<int>((row.y + row.height / 2) / ratio)});
  ASSERT_TRUE(settled.wait(kPatienceMs));
  EXPECT_EQ(window_.session()->report.rank, 1);
  EXPECT_EQ(chart.current(), 1U);
  EXPECT_EQ(window_.ranks(), before);
  QTest::keyClick(&chart, Qt::Key_Up);
  ASSERT_TRUE(settled.wait(kPatienceMs));
  EXPECT_EQ(window_.session()->report.rank, 0);
  // A single trace has no such panel.
  open_settled(path_);
  EXPECT_EQ(window_.ranks(), nullptr);
  EXPECT_EQ(table("ranks").rowCount(), 0);
}

TEST_F(RanksViewTest, AnEarlierTraceIsComparedByRank) {
  EXPECT_NE(window_.compare_with(folder_), "") << "nothing is open";
  open_settled(path_);
  QSignalSpy settled(&window_, &MainWindow::settled);
  ASSERT_EQ(window_.compare_with(folder_), "");
  ASSERT_TRUE(settled.wait(kPatienceMs));
  ASSERT_NE(window_.comparison(), nullptr);
  EXPECT_TRUE(window_.comparison()->difference.equal_runs()) << "the folder's rank 0 is the same trace";
  ASSERT_EQ(window_.compare_with(QString::fromStdString((trace_.folder() / "rank1.dcmt").string())), "");
  ASSERT_TRUE(settled.wait(kPatienceMs));
  const analyzer::Difference& difference = window_.comparison()->difference;
  ASSERT_FALSE(difference.numbers.empty());
  const TableModel& rows = table("comparison");
  EXPECT_EQ(rows.row_at(0).cells[0], words::text(difference.numbers.front().name)) << "what explains most is first";
  // A step's row leads to the step.
  for (int row = 0; row < rows.rowCount(); ++row) {
    if (rows.row_at(row).id != 1) continue;
    emit window_.compare_panel().tables()[0]->activated(rows.index(row, 0));
    const analyzer::Step& step = window_.session()->analysis.releases.steps[1];
    const load::DeviceTimeline& device = *window_.timeline().device();
    EXPECT_GE(*window_.selection().point(), device.unit_of(step.from));
    EXPECT_LT(*window_.selection().point(), device.unit_of(step.to));
  }
  QSignalSpy failed(&window_, &MainWindow::failed);
  ASSERT_EQ(window_.compare_with("/nowhere.dcmt"), "");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !failed.isEmpty(); }, kPatienceMs));
  EXPECT_NE(window_.comparison(), nullptr) << "what was compared before stays";
}

/// Writes into the same file, as a recorder does.
void write_over(const std::filesystem::path& to, const std::filesystem::path& from) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream(to, std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc) << in.rdbuf();
}

TEST_F(ViewTest, ATraceThatGrowsIsReadAgainAndWhatIsSeenStays) {
  trace_.meta_texts["state"] = "recording";
  std::filesystem::remove(path_.toStdString());
  path_ = QString::fromStdString(trace_.save());
  open(path_);
  EXPECT_TRUE(window_.message().startsWith("recording, 2 steps so far")) << qPrintable(window_.message());
  ASSERT_EQ(window_.select("finding:1"), "");
  ASSERT_EQ(window_.show_point("step:1"), "");
  const StorageId storage = window_.timeline().device()->block_of(*window_.selection().lifetime()).storage;
  const Sequence point = window_.timeline().device()->sequence_of(*window_.selection().point());
  window_.timeline().zoom(4);
  const scene::View view = *window_.timeline().view();

  two_steps(trace_);  // two more
  write_over(path_.toStdString(), trace_.save("longer.dcmt"));
  const SessionPointer before = window_.session();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.session() != before; }, kPatienceMs));
  EXPECT_TRUE(window_.message().startsWith("recording, 4 steps so far")) << qPrintable(window_.message());
  const load::DeviceTimeline& device = *window_.timeline().device();
  EXPECT_EQ(device.block_of(*window_.selection().lifetime()).storage, storage);
  EXPECT_EQ(device.sequence_of(*window_.selection().point()), point);
  EXPECT_EQ(window_.timeline().view()->from(), view.from());
  EXPECT_EQ(window_.timeline().view()->to(), view.to());

  // A file that is no trace any more causes one line, and the loaded data stays.
  const SessionPointer grown = window_.session();
  for (const char* content : {"no trace any more", ""}) {
    std::ofstream(path_.toStdString(), std::ios::in | std::ios::out | std::ios::trunc) << content;
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window_.message().startsWith("recording"); }, kPatienceMs));
    EXPECT_FALSE(window_.message().contains('\n'));
    EXPECT_EQ(window_.session(), grown);
  }
}

class LocalRunTest : public ViewTest {
 protected:
  LocalRunTest() : run_(trace_.folder() / "output", {"rank0.dcmt", "rank1.dcmt"}) {
    for (std::int64_t rank = 0; rank < 2; ++rank)
      std::filesystem::rename(save("recording", rank), run_.local_path(name(rank)));
  }

  [[nodiscard]] static std::string name(std::int64_t rank) { return "rank" + std::to_string(rank) + ".dcmt"; }
  std::string save(const char* state, std::int64_t rank) {
    trace_.meta_texts["state"] = state;
    trace_.meta_integers["rank"] = rank;
    return trace_.save("saved.dcmt");
  }

  load::LocalRun run_;
};

TEST_F(LocalRunTest, ATraceThatIsMovedIsReadWhereItIsThen) {
  open(QString::fromStdString(run_.output));
  EXPECT_EQ(window_.session()->path, run_.local_path(name(0)));
  two_steps(trace_);
  const SessionPointer before = window_.session();
  run_.move(name(0), save("finished", 0));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.session() != before; }, kPatienceMs));
  EXPECT_EQ(window_.session()->path, run_.output_path(name(0)));
  EXPECT_FALSE(window_.message().contains("recording")) << qPrintable(window_.message());
  EXPECT_EQ(window_.session()->analysis.releases.steps.size(), 4U);
  EXPECT_FALSE(window_.follower().check()) << "nothing more happens";

  // The other rank is moved while it is not shown.
  run_.move(name(1), save("finished", 1));
  QSignalSpy opened(&window_, &MainWindow::opened);
  window_.next_trace();
  ASSERT_TRUE(opened.wait(kPatienceMs)) << qPrintable(window_.message());
  EXPECT_EQ(window_.session()->path, run_.output_path(name(1)));
}

TEST_F(LocalRunTest, ALocalTraceThatIsGoneIsSaidToBeGone) {
  open(QString::fromStdString(run_.local_path(name(0))));
  const SessionPointer before = window_.session();
  std::filesystem::remove(run_.local_path(name(0)));
  EXPECT_TRUE(window_.follower().check());
  EXPECT_TRUE(window_.message().contains("is gone")) << qPrintable(window_.message());
  EXPECT_EQ(window_.session(), before);
}

TEST_F(ViewTest, WhatHappensToTheFileIsOneLine) {
  open(path_);
  const SessionPointer before = window_.session();
  std::filesystem::copy(path_.toStdString(), trace_.folder() / "copy.dcmt");
  std::filesystem::rename(trace_.folder() / "copy.dcmt", path_.toStdString());
  EXPECT_TRUE(window_.follower().check());
  EXPECT_TRUE(window_.message().contains("another file has its name")) << qPrintable(window_.message());
  EXPECT_FALSE(window_.follower().check()) << "it is said once";
  std::filesystem::resize_file(path_.toStdString(), 4096);
  EXPECT_TRUE(window_.follower().check());
  EXPECT_TRUE(window_.message().contains("was cut"));
  std::filesystem::remove(path_.toStdString());
  EXPECT_TRUE(window_.follower().check());
  EXPECT_TRUE(window_.message().contains("is gone"));
  EXPECT_EQ(window_.session(), before);
  window_.tick_finding();
  EXPECT_FALSE(window_.timeline().facts().bars.empty());
}

TEST_F(ViewTest, AnAnswerAboutAnotherTraceIsNotShown) {
  open(path_);
  window_.tick_finding();  // its work continues while the next trace is opened
  TestTrace other;
  other.allocate(100);
  open(QString::fromStdString(other.save()));
  QTest::qWait(100);
  EXPECT_EQ(window_.timeline().device()->shown()->peak, window_.session()->report.peak.predicted_bytes);
}

TEST_F(ViewTest, TheNewestRequestWins) {
  QSignalSpy opened(&window_, &MainWindow::opened);
  window_.open("/nowhere.dcmt");
  window_.open(path_);
  ASSERT_TRUE(opened.wait(kPatienceMs));
  QTest::qWait(50);
  EXPECT_EQ(opened.size(), 1);
  ASSERT_NE(window_.session(), nullptr);
}

}  // namespace
}  // namespace dcmt::gui
