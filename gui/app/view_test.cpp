// Tests the window with all its panels.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QTableView>

#include <fstream>

#include "gui/app/more_panels.h"
#include "gui/app/view_testing.h"
#include "gui/models/words.h"
#include "gui/widgets/table_view.h"

namespace dcmt::gui {
namespace {

using testing::kPatienceMs;
using testing::ViewTest;

TEST_F(ViewTest, ShowsTheReport) {
  open(path_);
  const model::Report& report = window_.session()->report;
  ASSERT_EQ(report.findings.size(), 1U);
  const TableModel& findings = table("findings");
  ASSERT_EQ(findings.rowCount(), 1);
  EXPECT_EQ(findings.row_at(0).cells[0], words::title(report.findings.front()));
  EXPECT_EQ(findings.row_at(0).cells[2], words::bytes(report.findings.front().predicted_peak->value));
  EXPECT_EQ(findings.data(findings.index(0, 0), Qt::CheckStateRole).toInt(), Qt::Checked);
  EXPECT_EQ(window_.selection().finding(), 1) << "the worst one is selected at first";
  EXPECT_EQ(window_.timeline().device()->sequence_of(*window_.selection().point()), report.peak.at->seq);
  const auto sites = report.peak.live.by_site();
  ASSERT_EQ(table("live").rowCount(), static_cast<int>(sites.size()));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    EXPECT_EQ(table("live").row_at(static_cast<int>(i)).cells[0], words::exact_bytes(sites[i].bytes.value));
    EXPECT_EQ(table("live").row_at(static_cast<int>(i)).cells[3], words::text(sites[i].name));
  }
}

TEST_F(ViewTest, TheFindingModelIsWhatQtExpects) {
  open(path_);
  FindingModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_findings(window_.session()->report, window_.timeline().device()->peak());
  EXPECT_TRUE(model.setData(model.index(0, 0), Qt::Unchecked, Qt::CheckStateRole));
  EXPECT_TRUE(model.ticked().empty());
  EXPECT_FALSE(model.setData(model.index(0, 1), Qt::Unchecked, Qt::CheckStateRole));
  model.set_ticked({1, 7});
  EXPECT_EQ(model.ticked(), std::vector<std::int64_t>{1}) << "there is no seventh";
}

TEST_F(ViewTest, TickingAFindingAnswersWhatIf) {
  open(path_);
  QSignalSpy shown(&window_, &MainWindow::what_if_shown);
  const load::DeviceTimeline& device = *window_.timeline().device();
  EXPECT_EQ(device.shown()->peak, window_.session()->report.peak.predicted_bytes);
  window_.timeline().setFocus();
  QTest::keyClick(&window_.timeline(), Qt::Key_X);
  ASSERT_TRUE(shown.wait(kPatienceMs));
  EXPECT_EQ(device.shown()->peak, window_.session()->report.peak.bytes);
  EXPECT_EQ(device.document().without, nullptr);
  QTest::keyClick(&window_.timeline(), Qt::Key_X);
  ASSERT_TRUE(shown.wait(kPatienceMs));
  EXPECT_EQ(device.shown()->peak, window_.session()->report.peak.predicted_bytes);
}

TEST_F(ViewTest, OneSelectionForAllPanels) {
  open(path_);
  const auto lifetimes = window_.timeline().device()->lifetimes_of(1);
  ASSERT_FALSE(lifetimes.empty());
  ASSERT_EQ(window_.select("finding:1"), "");
  EXPECT_EQ(window_.selection().lifetime(), lifetimes.front());
  const StorageId storage = window_.timeline().device()->block_of(lifetimes.front()).storage;
  const auto view = model::storage_view(window_.session()->path, window_.session()->analysis, storage);
  EXPECT_EQ(table("story").rowCount(), static_cast<int>(view->events.size()));
  EXPECT_EQ(table("selection").row_at(0).cells[1], QString::number(storage.value));
  EXPECT_EQ(window_.select("storage:" + QString::number(storage.value)), "");
  EXPECT_NE(window_.select("storage:999999"), "");
  EXPECT_NE(window_.select("finding:7"), "");
  EXPECT_NE(window_.select("x"), "");
  EXPECT_EQ(window_.show_point("step:1"), "");
  EXPECT_NE(window_.show_point("nowhere"), "");
}

TEST_F(ViewTest, ALinkOpensTheSameView) {
  open(path_);
  ASSERT_EQ(window_.select("finding:1"), "");
  ASSERT_EQ(window_.show_point("step:1"), "");
  ASSERT_EQ(window_.group_by("phase"), "");
  window_.tick_finding();
  window_.timeline().toggle_axis();
  window_.timeline().zoom(3);
  const Link link = window_.link();
  EXPECT_TRUE(link.from && link.to && link.ticked && link.ticked->isEmpty());
  MainWindow other;
  QSignalSpy opened(&other, &MainWindow::opened);
  other.open(link.path);
  ASSERT_TRUE(opened.wait(kPatienceMs));
  ASSERT_EQ(other.show_link(*link_of(text_of(link))), "");
  EXPECT_EQ(other.link(), link);
  EXPECT_EQ(other.selection().lifetime(), window_.selection().lifetime());
  EXPECT_EQ(other.selection().point(), window_.selection().point());
  Link wrong = link;
  wrong.device = "cuda:7";
  EXPECT_NE(other.show_link(wrong), "");
}

TEST_F(ViewTest, PanelsAreFilledWhenTheyAreSeen) {
  open(path_);
  EXPECT_EQ(table("releases").rowCount(), 0) << "behind another tab";
  window_.show_releases();
  ASSERT_TRUE(QTest::qWaitFor([&] { return table("releases").rowCount() > 0; }, kPatienceMs));
  const auto releases = model::releases_view("", window_.session()->analysis);
  EXPECT_EQ(table("releases").rowCount(), static_cast<int>(releases.releases.size()));
  // A release leads to its point.
  const qint64 seq = table("releases").row_at(3).id;
  emit window_.more().sequence_picked(seq);
  EXPECT_EQ(window_.selection().point(), window_.timeline().device()->unit_of(Sequence(seq)));

  window_.show_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return table("run").rowCount() > 0; }, kPatienceMs));
  window_.more().fill_all();
  EXPECT_EQ(table("survivors").rowCount(), static_cast<int>(window_.session()->report.survivors.size()));
  for (int row = 0; row < table("survivors").rowCount(); ++row) {
    if (const qint64 storage = table("survivors").row_at(row).id; storage > 0) {
      emit window_.more().storage_picked(storage);
      EXPECT_EQ(window_.timeline().device()->block_of(*window_.selection().lifetime()).storage, StorageId(storage));
    }
  }
}

TEST_F(ViewTest, AQuestionInSqlIsAnswered) {
  open(path_);
  QSignalSpy answered(&window_.more(), &MorePanels::answered);
  window_.more().ask("SELECT count(*) AS n FROM block");
  ASSERT_TRUE(answered.wait(kPatienceMs));
  ASSERT_EQ(table("answer").rowCount(), 1);
  EXPECT_EQ(table("answer").row_at(0).cells[0], QString::number(window_.session()->data->blocks.size()));
  window_.more().ask("DROP TABLE block");
  ASSERT_TRUE(answered.wait(kPatienceMs));
  EXPECT_TRUE(answered.back().front().toString().startsWith("a question begins with SELECT"));
  EXPECT_EQ(table("answer").rowCount(), 1) << "the answer before stays";
}

TEST_F(ViewTest, FindsBars) {
  open(path_);
  ASSERT_EQ(window_.find_text("ALLGATHER"), "");
  const auto first = window_.selection().lifetime();
  ASSERT_TRUE(first);
  EXPECT_EQ(window_.message(), "match 1 of 8");
  window_.next_match();
  EXPECT_NE(window_.selection().lifetime(), first);
  window_.previous_match();
  window_.previous_match();
  EXPECT_EQ(window_.message(), "match 8 of 8");
  EXPECT_NE(window_.find_text("no such operator"), "");
  const StorageId storage = window_.timeline().device()->block_of(*first).storage;
  ASSERT_EQ(window_.find_text(QString::number(storage.value)), "");
  EXPECT_EQ(window_.selection().lifetime(), first);
}

TEST_F(ViewTest, EveryPaneHasANameForScreenReaders) {
  open(path_);
  for (const QWidget* widget : window_.findChildren<QWidget*>()) {
    const bool pane =
        widget->inherits("QTableView") || widget->inherits("QComboBox") || widget->objectName() == "timeline";
    if (pane && widget->isVisible()) {
      EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
    }
  }
  EXPECT_TRUE(window_.timeline().accessibleDescription().contains("RELEASE KEEPS STORAGE"));
}

TEST_F(ViewTest, ATraceThatCannotBeReadLeavesTheWindowAsItWas) {
  open(path_);
  const SessionPointer before = window_.session();
  const std::string broken = (trace_.folder() / "broken.dcmt").string();
  std::ofstream(broken) << "this is no trace";
  for (const QString& path :
       {QString::fromStdString(broken), QStringLiteral("/nowhere.dcmt"), QStringLiteral("/proc")}) {
    open(path);
    EXPECT_EQ(window_.session(), before);
    EXPECT_FALSE(window_.message().isEmpty());
    EXPECT_FALSE(window_.message().contains('\n'));
  }
  // The file was deleted while it was open: the loaded data stays.
  std::filesystem::remove(path_.toStdString());
  open(path_);
  EXPECT_EQ(window_.session(), before);
  EXPECT_FALSE(window_.timeline().facts().bars.empty());
}
}  // namespace
}  // namespace dcmt::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  QApplication app(argc, argv);
  return RUN_ALL_TESTS();
}