// The window with all its panels, without a display (QT_QPA_PLATFORM=offscreen).
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QDialog>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTimer>

#include <fstream>

#include "analyzer/testing/test_trace.h"
#include "gui/app/commands.h"
#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/models/words.h"
#include "gui/widgets/address_view.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

constexpr int kPatienceMs = 20000;
constexpr std::int64_t kBytes = 1'048'584;

void two_steps(testing::TestTrace& trace) {
  for (std::int64_t step = 1; step <= 2; ++step) {
    trace.phase("forward", [&] { testing::add_zero3_graph(trace, 4, kBytes, false); });
    trace.step(step);
  }
}

/// A window with a trace that has a finding.
class ViewTest : public ::testing::Test {
 protected:
  ViewTest() {
    two_steps(trace_);
    path_ = QString::fromStdString(trace_.save());
    window_.resize(1280, 800);
    window_.show();
  }

  void open(const QString& path) {
    QSignalSpy opened(&window_, &MainWindow::opened);
    QSignalSpy failed(&window_, &MainWindow::failed);
    window_.open(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty() || !failed.isEmpty(); }, kPatienceMs));
  }
  const TableModel& table(const QString& name) {
    for (const auto& [key, model] : window_.tables()) {
      if (key == name) return *model;
    }
    return *window_.tables().front().second;
  }

  /// A point of the picture, which has pixels of the display, in the window's.
  QPoint in_window(int x, int y) {
    const double ratio = window_.timeline().devicePixelRatioF();
    return {static_cast<int>((x + 0.5) / ratio), static_cast<int>((y + 0.5) / ratio)};
  }

  testing::TestTrace trace_;
  QString path_;
  MainWindow window_;
};

TEST(Models, AreWhatQtExpectsOfModels) {
  TableModel model({{"name"}, {"bytes", true}});
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (const int rows : {0, 3, 5000, 1, 0}) {
    std::vector<TableModel::Row> all;
    for (int i = 0; i < rows; ++i) all.push_back({{QString::number(i % 7), QString::number(i)}, {0, double(i)}, i});
    model.set_rows(std::move(all));
    EXPECT_EQ(model.rowCount(), rows);
    model.sort(1, Qt::DescendingOrder);
    if (rows > 0) {
      EXPECT_EQ(model.row_at(0).id, rows - 1);
    }
    model.sort(0, Qt::AscendingOrder);
  }
}

TEST(Models, OfAMillionRowsAnswerAtOnce) {
  TableModel model({{"bytes", true}});
  std::vector<TableModel::Row> all(1'000'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {{QStringLiteral("x")}, {double(i)}, qint64(i)};
  model.set_rows(std::move(all));
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(model.row_at(0).id, 999'999);
}

TEST(Models, ASelectionThatIsClearedIsGoneAsAWhole) {
  Selection selection;
  selection.select_moment(7);
  selection.select_lifetime(3, 1);
  int heard = 0;
  const auto gone = [&] {
    ++heard;
    EXPECT_EQ(selection.finding(), 0);
    EXPECT_FALSE(selection.lifetime());
    EXPECT_FALSE(selection.moment());
  };
  QObject::connect(&selection, &Selection::changed, gone);
  QObject::connect(&selection, &Selection::moment_changed, gone);
  selection.clear();
  EXPECT_EQ(heard, 2);
  selection.clear();
  EXPECT_EQ(heard, 2) << "there was nothing to clear";
}

TEST(Models, LinksAreReadAsTheyWereWritten) {
  const QList<Link> links{{"/out/rank0.dcmt", "", {}, {}, "", "", "", false, {}},
                          {"/out/a b#view?&=%/é.dcmt", "cuda:0", 812, 4711, "finding:1", "a mark & more", "site", true,
                           QList<qint64>{1, 3}},
                          {"x", "", 1, 2, "storage:7", "1301", "", false, QList<qint64>{}}};
  for (const Link& link : links) {
    const QString text = text_of(link);
    EXPECT_TRUE(is_link(text));
    EXPECT_EQ(link_of(text), link) << qPrintable(text);
  }
  for (const char* text : {"dcmt:#view", "dcmt:x#view?from=a", "dcmt:x#view?no=1", "dcmt:x#view?axis=depth",
                           "dcmt:x#views", "dcmt:x#view?without=1,b", "/out/rank0.dcmt", "dcmt:x#view?at"}) {
    EXPECT_FALSE(link_of(QString::fromUtf8(text))) << text;
  }
}

TEST(Models, SortedRowsKeepWhatIsSelected) {
  TableModel model({{"name"}});
  model.set_rows({{{"b"}, {}, 1}, {{"a"}, {}, 2}});
  const QPersistentModelIndex kept = model.index(0, 0);
  model.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(kept.row(), 1);
  EXPECT_EQ(model.text_of({model.index(0, 0), model.index(1, 0)}), "a\nb\n");
}

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
  EXPECT_EQ(window_.timeline().device()->sequence_of(*window_.selection().moment()), report.peak.at->seq);
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
  EXPECT_EQ(window_.show_moment("step:1"), "");
  EXPECT_NE(window_.show_moment("nowhere"), "");
}

TEST_F(ViewTest, ALinkOpensTheSameView) {
  open(path_);
  ASSERT_EQ(window_.select("finding:1"), "");
  ASSERT_EQ(window_.show_moment("step:1"), "");
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
  EXPECT_EQ(other.selection().moment(), window_.selection().moment());
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
  // A release leads to its moment.
  const qint64 seq = table("releases").row_at(3).id;
  emit window_.more().sequence_picked(seq);
  EXPECT_EQ(window_.selection().moment(), window_.timeline().device()->unit_of(Sequence(seq)));

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

/// Each command by each of its keys; a dialog that opens is closed.
TEST_F(ViewTest, EveryCommandHasKeysThatRunIt) {
  open(path_);
  QTimer closer;
  int dialogs = 0;
  QObject::connect(&closer, &QTimer::timeout, [&] {
    if (QWidget* dialog = QApplication::activeModalWidget()) {
      ++dialogs;
      dialog->close();
    }
  });
  closer.start(20);
  std::set<QString> seen;
  for (const Command& command : commands()) {
    for (const QString& key : QString::fromUtf8(command.keys).split(' ')) {
      EXPECT_TRUE(seen.insert(key).second) << "two commands have " << qPrintable(key);
      const QKeySequence keys(key);
      ASSERT_EQ(keys.count(), 1) << qPrintable(key);
      int runs = 0;
      for (QAction* action : window_.findChildren<QAction*>()) {
        if (action->text() != QString::fromUtf8(command.text) || command.run == &MainWindow::quit) continue;
        QObject::connect(action, &QAction::triggered, &closer, [&runs] { ++runs; });
        window_.activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
        window_.timeline().setFocus();
        QTest::keyClick(&window_.timeline(), Qt::Key(keys[0].key()), keys[0].keyboardModifiers());
        EXPECT_EQ(runs, 1) << command.text << " by " << qPrintable(key);
        QObject::disconnect(action, nullptr, &closer, nullptr);
      }
    }
    EXPECT_TRUE(keys_text().contains(QString::fromUtf8(command.text)));
  }
  EXPECT_EQ(dialogs, 8) << "open, compare, picture, go to, find, commands, keys twice";
  QTest::qWait(100);
}

TEST_F(ViewTest, KeysMoveTheViewAndBackspaceGoesBack) {
  open(path_);
  Timeline& timeline = window_.timeline();
  timeline.setFocus();
  const scene::View whole = *timeline.view();
  QTest::keyClick(&timeline, Qt::Key_W);
  EXPECT_LT(timeline.view()->to() - timeline.view()->from(), whole.to() - whole.from());
  QTest::keyClick(&timeline, Qt::Key_Backspace);
  EXPECT_EQ(*timeline.view(), whole);
  QTest::keyClick(&timeline, Qt::Key_T);
  EXPECT_NE(timeline.view()->axis(), whole.axis());
  QTest::keyClick(&timeline, Qt::Key_N);
  ASSERT_TRUE(window_.selection().lifetime());
  const auto first = window_.selection().lifetime();
  QTest::keyClick(&timeline, Qt::Key_Down);
  EXPECT_NE(window_.selection().lifetime(), first);
  QTest::keyClick(&timeline, Qt::Key_F);
  const scene::Lifetime& of = timeline.device()->recording().lifetimes()[*window_.selection().lifetime()];
  EXPECT_LE(timeline.view()->from(), timeline.view()->x_of(timeline.device()->recording(), of.from));
  EXPECT_LT(timeline.view()->to() - timeline.view()->from(), timeline.view()->length());
  QTest::keyClick(&timeline, Qt::Key_0);
  EXPECT_TRUE(timeline.view()->whole());
}

TEST_F(ViewTest, AClickOnABarSelectsItAndOnTheCurveItsHighestMoment) {
  open(path_);
  Timeline& timeline = window_.timeline();
  const scene::Facts& facts = timeline.facts();
  ASSERT_FALSE(facts.bars.empty());
  const scene::BarOf bar = facts.bars.front();
  QTest::mouseClick(&timeline, Qt::LeftButton, {},
                    in_window(bar.box.x + bar.box.width / 2, bar.box.y + bar.box.height / 2));
  EXPECT_EQ(window_.selection().lifetime(), bar.lifetime);
  const auto curve = std::find_if(facts.rows.begin(), facts.rows.end(),
                                  [](const scene::Row& row) { return row.what == scene::Row::What::kCurve; });
  const QPoint at = in_window(facts.chart.x + facts.chart.width / 3, curve->y + 10);
  const auto column =
      static_cast<std::size_t>(at.x() * timeline.devicePixelRatioF()) - static_cast<std::size_t>(facts.chart.x);
  const scene::Unit highest = facts.curve[column].highest_at;
  QTest::mouseClick(&timeline, Qt::LeftButton, {}, at);
  EXPECT_EQ(window_.selection().moment(), highest);
  QTest::mousePress(&timeline, Qt::LeftButton, {}, at);
  QTest::mouseMove(&timeline, at + QPoint(60, 0));
  QTest::mouseRelease(&timeline, Qt::LeftButton, {}, at + QPoint(60, 0));
  EXPECT_TRUE(timeline.range().has_value());
}

TEST_F(ViewTest, NoTwoTextsOfTheTimelineMeetAndNoneIsCut) {
  open(path_);
  Timeline& timeline = window_.timeline();
  for (const QSize size : {QSize(1280, 720), QSize(1920, 1080), QSize(2560, 1440), QSize(700, 420)}) {
    for (const int pixels : {12, 13, 20}) {
      window_.resize(size);
      QFont font = timeline.font();
      font.setPixelSize(pixels);
      timeline.setFont(font);
      QApplication::processEvents();
      for (int zoom = 0; zoom < 4; ++zoom) {
        const auto texts = timeline.facts().texts();
        EXPECT_GT(texts.size(), 5U);
        for (std::size_t i = 0; i < texts.size(); ++i) {
          EXPECT_LE(texts[i].box.x + texts[i].box.width, timeline.width() * timeline.devicePixelRatioF())
              << texts[i].text;
          for (std::size_t j = i + 1; j < texts.size(); ++j) {
            EXPECT_FALSE(texts[i].box.meets(texts[j].box))
                << texts[i].text << " and " << texts[j].text << " at " << size.width() << " font " << pixels;
          }
        }
        timeline.zoom(2);
      }
      timeline.fit_whole();
    }
  }
}

TEST_F(ViewTest, LifetimesAreArrangedByAddress) {
  open(path_);
  ASSERT_EQ(window_.select("finding:1"), "");
  const scene::LifetimeId selected = *window_.selection().lifetime();
  load::DeviceTimeline& device = *window_.timeline().device();
  const std::size_t kinds = device.document().bands.size();
  window_.timeline().setFocus();
  QTest::keyClick(&window_.timeline(), Qt::Key_B);
  ASSERT_TRUE(QTest::qWaitFor([&] { return device.arrangement() == load::Arrangement::kAddress; }, kPatienceMs));
  const load::ByAddress& places = *device.addresses();
  EXPECT_EQ(device.document().bands.size(), places.places.stretches.size());
  // The same bars, and those of findings still have their color.
  bool seen = false;
  for (const scene::BarOf& bar : window_.timeline().facts().bars) {
    seen |= bar.lifetime == selected;
    EXPECT_EQ(device.recording().lifetimes()[bar.lifetime].finding, device.finding_of(bar.lifetime) > 0);
  }
  EXPECT_TRUE(seen) << "what is selected is revealed";
  EXPECT_EQ(window_.selection().finding(), 1);
  window_.next_finding();
  EXPECT_TRUE(window_.selection().lifetime());
  // Another grouping, and back.
  window_.next_grouping();
  QTest::keyClick(&window_.timeline(), Qt::Key_B);
  EXPECT_EQ(device.arrangement(), load::Arrangement::kKind);
  EXPECT_EQ(device.document().bands.size(), kinds);

  // The map: what is clicked is selected, Left and Right go from block to block.
  window_.show_addresses();
  AddressView& map = window_.more().addresses();
  ASSERT_FALSE(map.stretches().empty());
  ASSERT_FALSE(map.facts().bars.empty());
  const scene::BarOf bar = map.facts().bars.front();
  const double ratio = map.devicePixelRatioF();
  QTest::mouseClick(
      &map, Qt::LeftButton, {},
      {static_cast<int>((bar.box.x + bar.box.width / 2) / ratio), static_cast<int>((bar.box.y + 3) / ratio)});
  EXPECT_EQ(window_.selection().lifetime(), bar.lifetime);
  QTest::keyClick(&map, Qt::Key_Right);
  EXPECT_NE(window_.selection().lifetime(), bar.lifetime);
  QTest::keyClick(&map, Qt::Key_Left);
  EXPECT_EQ(window_.selection().lifetime(), bar.lifetime);
  for (const scene::TextOf& text : map.facts().texts) {
    EXPECT_LE(text.box.x + text.box.width, map.facts().chart.x);
  }

  // The view by address is part of a link to it.
  ASSERT_EQ(window_.arrange("address"), "");
  const Link link = window_.link();
  EXPECT_EQ(link.arrange, "address");
  ASSERT_EQ(window_.arrange("kind"), "");
  ASSERT_EQ(window_.show_link(link), "");
  EXPECT_EQ(device.arrangement(), load::Arrangement::kAddress);
  EXPECT_NE(window_.arrange("color"), "");
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
  // Deleted while it is open: what was read is still there.
  std::filesystem::remove(path_.toStdString());
  open(path_);
  EXPECT_EQ(window_.session(), before);
  EXPECT_FALSE(window_.timeline().facts().bars.empty());
}

/// Two ranks in one folder, of which the second keeps what it gathers.
class RanksViewTest : public ViewTest {
 protected:
  RanksViewTest() {
    other_.meta_integers["rank"] = 1;
    for (std::int64_t step = 1; step <= 2; ++step) {
      other_.phase("forward", [&] { testing::add_zero3_graph(other_, 4, kBytes, true); });
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

  testing::TestTrace other_;
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
  // A click on the other one's curve opens it; what was read of the ranks stays.
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
  // One trace alone has no such panel.
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
    EXPECT_GE(*window_.selection().moment(), device.unit_of(step.from));
    EXPECT_LT(*window_.selection().moment(), device.unit_of(step.to));
  }
  QSignalSpy failed(&window_, &MainWindow::failed);
  ASSERT_EQ(window_.compare_with("/nowhere.dcmt"), "");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !failed.isEmpty(); }, kPatienceMs));
  EXPECT_NE(window_.comparison(), nullptr) << "what was compared before stays";
}

/// Into the same file, as a recorder does.
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
  ASSERT_EQ(window_.show_moment("step:1"), "");
  const StorageId storage = window_.timeline().device()->block_of(*window_.selection().lifetime()).storage;
  const Sequence moment = window_.timeline().device()->sequence_of(*window_.selection().moment());
  window_.timeline().zoom(4);
  const scene::View view = *window_.timeline().view();

  two_steps(trace_);  // two more
  write_over(path_.toStdString(), trace_.save("longer.dcmt"));
  const SessionPointer before = window_.session();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.session() != before; }, kPatienceMs));
  EXPECT_TRUE(window_.message().startsWith("recording, 4 steps so far")) << qPrintable(window_.message());
  const load::DeviceTimeline& device = *window_.timeline().device();
  EXPECT_EQ(device.block_of(*window_.selection().lifetime()).storage, storage);
  EXPECT_EQ(device.sequence_of(*window_.selection().moment()), moment);
  EXPECT_EQ(window_.timeline().view()->from(), view.from());
  EXPECT_EQ(window_.timeline().view()->to(), view.to());

  // What is no trace any more is one line, and what was read stays.
  const SessionPointer grown = window_.session();
  for (const char* content : {"no trace any more", ""}) {
    std::ofstream(path_.toStdString(), std::ios::in | std::ios::out | std::ios::trunc) << content;
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window_.message().startsWith("recording"); }, kPatienceMs));
    EXPECT_FALSE(window_.message().contains('\n'));
    EXPECT_EQ(window_.session(), grown);
  }
}

TEST_F(ViewTest, WhatHappensToTheFileIsOneLine) {
  open(path_);
  const SessionPointer before = window_.session();
  std::filesystem::copy(path_.toStdString(), trace_.folder() / "copy.dcmt");
  std::filesystem::rename(trace_.folder() / "copy.dcmt", path_.toStdString());
  EXPECT_TRUE(window_.follower().look());
  EXPECT_TRUE(window_.message().contains("another file has its name")) << qPrintable(window_.message());
  EXPECT_FALSE(window_.follower().look()) << "it is said once";
  std::filesystem::resize_file(path_.toStdString(), 4096);
  EXPECT_TRUE(window_.follower().look());
  EXPECT_TRUE(window_.message().contains("was cut"));
  std::filesystem::remove(path_.toStdString());
  EXPECT_TRUE(window_.follower().look());
  EXPECT_TRUE(window_.message().contains("is gone"));
  EXPECT_EQ(window_.session(), before);
  window_.tick_finding();
  EXPECT_FALSE(window_.timeline().facts().bars.empty());
}

TEST_F(ViewTest, AnAnswerAboutAnotherTraceIsNotShown) {
  open(path_);
  window_.tick_finding();  // is being worked on while
  testing::TestTrace other;
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

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  QApplication app(argc, argv);
  return RUN_ALL_TESTS();
}
