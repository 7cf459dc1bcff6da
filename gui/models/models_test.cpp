// Tests models, the selection and links, without a window.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "gui/models/link.h"
#include "gui/models/selection.h"
#include "gui/models/table_model.h"
#include "gui/models/words.h"

namespace dcmt::gui {
namespace {

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
  selection.select_point(7);
  selection.select_lifetime(3, 1);
  int heard = 0;
  const auto gone = [&] {
    ++heard;
    EXPECT_EQ(selection.finding(), 0);
    EXPECT_FALSE(selection.lifetime());
    EXPECT_FALSE(selection.point());
  };
  QObject::connect(&selection, &Selection::changed, gone);
  QObject::connect(&selection, &Selection::point_changed, gone);
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

/// "label|value" of each row.
QStringList lines(const std::vector<TableModel::Row>& rows) {
  QStringList all;
  for (const TableModel::Row& row : rows) all.append(row.cells[0] + '|' + row.cells[1]);
  return all;
}

TEST(Words, OfWhatGrowsTheUsersLineComesBeforeThePackages) {
  model::ReportedFinding finding;
  finding.number = 1;
  finding.rule = finding.title = "grows";
  analyzer::GrowthBase growth;
  growth.holder = "main: probe.seen";
  growth.place = "train.py:37";
  growth.type = "list";
  growth.rounds = 3;
  growth.count = 4;
  growth.seen = 3;
  growth.per_round = Bytes(1024);
  growth.alone = Bytes(2048);
  growth.made_at = {{"timm/loss.py:7 mse", "train.py:12 main", Bytes(2048), 2},
                    {"train.py:14 main", {}, Bytes(1024), 1}};
  growth.stored_by = {{"train.py:13", "probe.seen.append(loss)", {}, 13}};
  finding.growth = growth;
  model::Report report;
  report.path = "/out/a b.dcmt";
  const QStringList all = lines(words::facts(finding, report));
  const qsizetype first = all.indexOf("held by|main (train.py:37): probe.seen [list]");
  ASSERT_GE(first, 0) << qPrintable(all.join('\n'));
  EXPECT_EQ(all.mid(first + 1, 5),
            (QStringList{"added at|train.py:13   probe.seen.append(loss)",
                         "made at|train.py:12 main   2 storages, 2,048 B", "|  in timm/loss.py:7 mse",
                         "|train.py:14 main   1 storage, 1,024 B", "alone|2,048 B are freed if only this is emptied"}));
  EXPECT_TRUE(all.contains("of|probe.seen   0 B in 3 steps, 1,024 B more each   holder: certain for 3 of 4 storages"));
  EXPECT_TRUE(all.contains("next|dc-memtrace show holders '/out/a b.dcmt' 1"));
}

TEST(Models, SortedRowsKeepWhatIsSelected) {
  TableModel model({{"name"}});
  model.set_rows({{{"b"}, {}, 1}, {{"a"}, {}, 2}});
  const QPersistentModelIndex kept = model.index(0, 0);
  model.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(kept.row(), 1);
  EXPECT_EQ(model.text_of({model.index(0, 0), model.index(1, 0)}), "a\nb\n");
}

}  // namespace
}  // namespace dcmt::gui
