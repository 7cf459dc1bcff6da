// Tests keys and the pointer, and that their effects can be observed.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTimer>

#include "gui/app/commands.h"
#include "gui/app/more_panels.h"
#include "gui/app/view_testing.h"
#include "gui/models/words.h"
#include "gui/widgets/address_view.h"
#include "gui/widgets/table_view.h"

namespace dcmt::gui {
namespace {

using testing::kPatienceMs;
using testing::ViewTest;

/// Runs each command by each of its keys, and closes any dialog.
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

TEST_F(ViewTest, LettersWorkFromEveryPaneAndArrowsBelongToThePaneWithTheFocus) {
  open(path_);
  window_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
  const scene::View whole = *window_.timeline().view();
  QTest::keyClick(&window_.timeline(), Qt::Key_4);
  auto* table = qobject_cast<TableView*>(QApplication::focusWidget());
  ASSERT_NE(table, nullptr) << "4 goes to the live set";
  QTest::keyClick(table, Qt::Key_W);
  EXPECT_LT(window_.timeline().view()->to() - window_.timeline().view()->from(), whole.to() - whole.from());
  QTest::keyClick(table, Qt::Key_0);
  EXPECT_TRUE(window_.timeline().view()->whole());
  table->setCurrentIndex(table->model()->index(0, 0));
  const auto selected = window_.selection().lifetime();
  QTest::keyClick(table, Qt::Key_Down);
  EXPECT_EQ(table->currentIndex().row(), 1);
  EXPECT_EQ(window_.selection().lifetime(), selected);

  auto* box = window_.findChild<QComboBox*>(QStringLiteral("live by"));
  ASSERT_NE(box, nullptr);
  box->setFocus();
  QTest::keyClick(box, Qt::Key_P);
  EXPECT_TRUE(box->currentText().startsWith(QLatin1Char('p'))) << qPrintable(box->currentText());

  ASSERT_EQ(window_.show_panel(QStringLiteral("sql")), "");
  auto* sql = window_.findChild<QPlainTextEdit*>();
  ASSERT_NE(sql, nullptr);
  sql->setFocus();
  sql->clear();
  QTest::keyClicks(sql, QStringLiteral("SELECT 4"));
  EXPECT_EQ(sql->toPlainText(), "SELECT 4");
  EXPECT_TRUE(window_.timeline().view()->whole());
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

TEST_F(ViewTest, AClickOnABarSelectsItAndOnTheCurveItsHighestPoint) {
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
  EXPECT_EQ(window_.selection().point(), highest);
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

TEST_F(ViewTest, TheMapOfAddressesNeedsNoLanes) {
  open(path_);
  load::DeviceTimeline& device = *window_.timeline().device();
  window_.show_addresses();
  ASSERT_TRUE(QTest::qWaitFor([&] { return device.addresses() != nullptr; }, kPatienceMs));
  EXPECT_EQ(device.addresses()->lanes, nullptr);
  EXPECT_FALSE(window_.more().addresses().stretches().empty());
  window_.toggle_arrangement();
  ASSERT_TRUE(QTest::qWaitFor([&] { return device.arrangement() == load::Arrangement::kAddress; }, kPatienceMs));
  EXPECT_NE(device.addresses()->lanes, nullptr);
  EXPECT_FALSE(window_.more().addresses().stretches().empty());
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
  EXPECT_EQ(device.document().bands.size(), places.stretches.size());
  // The same bars, and those of findings keep their color.
  bool seen = false;
  for (const scene::BarOf& bar : window_.timeline().facts().bars) {
    seen |= bar.lifetime == selected;
    EXPECT_EQ(device.recording().lifetimes()[bar.lifetime].finding, device.finding_of(bar.lifetime) > 0);
  }
  EXPECT_TRUE(seen) << "what is selected is revealed";
  EXPECT_EQ(window_.selection().finding(), 1);
  window_.next_finding();
  EXPECT_TRUE(window_.selection().lifetime());
  // Changes the grouping, and changes it back.
  window_.next_grouping();
  QTest::keyClick(&window_.timeline(), Qt::Key_B);
  EXPECT_EQ(device.arrangement(), load::Arrangement::kKind);
  EXPECT_EQ(device.document().bands.size(), kinds);

  // On the map, a click selects a block; Left and Right move between blocks.
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

  // A link contains the view by address.
  ASSERT_EQ(window_.arrange("address"), "");
  const Link link = window_.link();
  EXPECT_EQ(link.arrange, "address");
  ASSERT_EQ(window_.arrange("kind"), "");
  ASSERT_EQ(window_.show_link(link), "");
  EXPECT_EQ(device.arrangement(), load::Arrangement::kAddress);
  EXPECT_NE(window_.arrange("color"), "");
}

}  // namespace
}  // namespace dcmt::gui
