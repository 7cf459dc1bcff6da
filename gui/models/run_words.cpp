#include "gui/models/run_words.h"

#include <algorithm>

#include "gui/models/words.h"
#include "render/wording/rank_words.h"
#include "trace/base/code_path.h"
#include "trace/base/quantities.h"

namespace dcmt::gui::words {
namespace {

using analyzer::Fate;
using analyzer::RankComparison;

/// The maximum of rows shown for a long list; the number of the others is shown.
constexpr std::size_t kMostRows = 20;

QString ranks_text(const analyzer::Ranks& ranks) {
  return ranks.empty() ? QStringLiteral("no rank") : text(wording::ranks_name(ranks));
}

QString key_text(const RankComparison& comparison, const analyzer::Key& key) {
  return text(wording::key_text(comparison, key));
}

QString fate_text(const analyzer::ResidualDifference::Side& side) {
  const QString words = text(wording::fate_text(side.fate));
  return side.fate == Fate::kResidual ? words + QLatin1Char(' ') + exact_bytes(side.bytes.value) : words;
}

class Rows {
 public:
  void add(const QString& what, const QString& how, const analyzer::Ranks& about = {}) {
    rows_.push_back({{what, how}, {}, about.empty() ? -1 : about.front()});
  }
  template <class List, class Each>
  void add_all(const List& list, const QString& what, const Each& each) {
    std::size_t count = 0;
    for (const auto& one : list) {
      if (count++ == kMostRows) {
        add(what, QStringLiteral("and %1 more: dc-memtrace show ranks --json").arg(list.size() - kMostRows));
        break;
      }
      each(one);
    }
  }
  [[nodiscard]] std::vector<TableModel::Row> all() { return std::move(rows_); }

 private:
  std::vector<TableModel::Row> rows_;
};

QString clock_text(const load::Ranks& ranks) {
  std::int64_t error = 0;
  bool by_wall = false;
  bool by_nothing = false;
  for (const analyzer::RankClock& clock : ranks.clocks) {
    error = std::max(error, clock.error_ns);
    by_wall |= clock.by == analyzer::AlignedBy::kWallClock;
    by_nothing |= clock.by == analyzer::AlignedBy::kNothing;
  }
  if (by_nothing) return QStringLiteral("not aligned: the ranks have no step, collective or wall clock in common");
  if (by_wall) return QStringLiteral("aligned by the wall clock, good to milliseconds at best");
  return QStringLiteral("aligned by steps and collectives within %1").arg(time(error));
}

QString change_text(std::int64_t change) { return (change > 0 ? QStringLiteral("+") : QString()) + number(change); }

QString place_text(const std::string& file, std::int64_t line, const std::string& function) {
  QString where = text(function);
  if (!file.empty()) {
    where = text(short_path(file)) + QLatin1Char(':') + QString::number(line);
    if (const std::size_t space = function.rfind(' '); space != std::string::npos)
      where += text(function.substr(space));
  }
  return where;
}

TableModel::Row difference_row(const QString& what, std::optional<std::int64_t> before,
                               std::optional<std::int64_t> after, const QString& share, const QString& where,
                               qint64 id = -1) {
  const std::int64_t change = after.value_or(0) - before.value_or(0);
  const auto shown = [](const std::optional<std::int64_t>& value) {
    return value ? number(*value) : QStringLiteral("-");
  };
  return {{what, change_text(change), share, where, shown(before), shown(after)}, {}, id};
}

void add_lines(const analyzer::NumberDifference& number, std::vector<TableModel::Row>& rows) {
  for (const analyzer::LineDifference& line : number.lines) {
    QString where = place_text(line.file, line.line, line.function);
    if (!line.caller.empty()) where += QStringLiteral(", called at ") + text(line.caller);
    if (!line.holder.empty()) where += QStringLiteral(", held by ") + text(line.holder);
    rows.push_back(difference_row(QStringLiteral("    by a line"), line.before.value, line.before.value + line.change,
                                  QString::number(100 * line.share, 'f', 0) + QStringLiteral(" %"), where));
  }
}

}  // namespace

std::vector<TableModel::ColumnOf> rank_columns() {
  return {{QStringLiteral("rank"), true},
          {QStringLiteral("device")},
          {QStringLiteral("peak"), true},
          {QStringLiteral("step"), true},
          {QStringLiteral("without the findings"), true},
          {QStringLiteral("gathers"), true},
          {QStringLiteral("steps"), true},
          {QStringLiteral("findings"), true},
          {QStringLiteral("lost"), true}};
}

std::vector<TableModel::Row> ranks(const load::Ranks& ranks) {
  std::vector<TableModel::Row> rows;
  for (std::size_t i = 0; i < ranks.comparison.ranks.size(); ++i) {
    const analyzer::RankFacts& of = ranks.comparison.ranks[i];
    const analyzer::RankPeak* peak = of.devices.empty() ? nullptr : &of.devices.front();
    const auto findings = static_cast<std::int64_t>(of.findings.size());
    rows.push_back(
        {{QString::number(of.rank), peak != nullptr ? text(peak->device) : QStringLiteral("-"),
          peak != nullptr ? exact_bytes(peak->bytes.value) : QStringLiteral("-"),
          peak != nullptr && peak->step ? number(*peak->step) : QStringLiteral("-"),
          peak != nullptr ? exact_bytes(peak->predicted.value) : QStringLiteral("-"), number(of.gathers()),
          number(of.steps_ended), number(findings), number(of.lost)},
         {static_cast<double>(of.rank), 0, peak != nullptr ? static_cast<double>(peak->bytes.value) : 0,
          peak != nullptr && peak->step ? static_cast<double>(*peak->step) : -1,
          peak != nullptr ? static_cast<double>(peak->predicted.value) : 0, static_cast<double>(of.gathers()),
          static_cast<double>(of.steps_ended), static_cast<double>(findings), static_cast<double>(of.lost)},
         static_cast<qint64>(i)});
  }
  return rows;
}

std::vector<TableModel::Row> rank_differences(const load::Ranks& all) {
  const RankComparison& comparison = all.comparison;
  Rows rows;
  if (!comparison.missing.empty()) {
    rows.add(QStringLiteral("no trace"),
             ranks_text(comparison.missing) + QStringLiteral(" of %1").arg(comparison.world_size));
  }
  for (const analyzer::RankApart& each : all.apart) {
    QString in;
    for (const std::string& what : each.in) in += (in.isEmpty() ? QString() : QStringLiteral(", ")) + text(what);
    rows.add(QStringLiteral("stands out"), QStringLiteral("rank %1: %2").arg(each.rank).arg(in), {each.rank});
  }
  if (comparison.memory) {
    for (const analyzer::BytesOfRanks& side : comparison.memory->peaks) {
      rows.add(QStringLiteral("peak"), exact_bytes(side.bytes.value) + QStringLiteral(" on ") + ranks_text(side.ranks),
               side.ranks);
    }
    for (const auto& growth : comparison.memory->growth) {
      rows.add(QStringLiteral("growth"),
               QStringLiteral("%1 B a step on %2").arg(change_text(growth.bytes_a_step), ranks_text(growth.ranks)),
               growth.ranks);
    }
    for (const auto& place : comparison.memory->places) {
      for (const analyzer::BytesOfRanks& side : place.sides) {
        rows.add(
            QStringLiteral("allocated at"),
            QStringLiteral("%1: %2 on %3").arg(text(place.site), exact_bytes(side.bytes.value), ranks_text(side.ranks)),
            side.ranks);
      }
    }
  }
  if (const auto& order = comparison.order) {
    for (const auto& branch : order->branches) {
      rows.add(QStringLiteral("gather order"),
               QStringLiteral("step %1, gather %2: %3 on %4")
                   .arg(order->step)
                   .arg(order->position + 1)
                   .arg(branch.key ? key_text(comparison, *branch.key) : QStringLiteral("the step ends"),
                        ranks_text(branch.ranks)),
               branch.ranks);
    }
  }
  rows.add_all(comparison.parameters, QStringLiteral("parameter"), [&](const analyzer::ParameterDifference& each) {
    for (const auto& side : each.sides) {
      QString how = side.bytes ? exact_bytes(side.bytes->value) : QStringLiteral("bytes not known");
      if (side.declared) how += QStringLiteral(", %1 uses").arg(*side.declared);
      if (side.persistent)
        how += *side.persistent ? QStringLiteral(", persistent") : QStringLiteral(", not persistent");
      rows.add(
          QStringLiteral("parameter"),
          key_text(comparison, each.key) + QStringLiteral(": ") + how + QStringLiteral(" on ") + ranks_text(side.ranks),
          side.ranks);
    }
  });
  rows.add_all(comparison.residual, QStringLiteral("residual"), [&](const analyzer::ResidualDifference& each) {
    for (const auto& side : each.sides) {
      rows.add(QStringLiteral("residual"),
               key_text(comparison, each.key) + QStringLiteral(": ") + fate_text(side) + QStringLiteral(" on ") +
                   ranks_text(side.ranks),
               side.ranks);
    }
  });
  rows.add_all(comparison.findings, QStringLiteral("finding"), [&](const analyzer::FindingDifference& each) {
    for (const analyzer::BytesOfRanks& side : each.with) {
      QString how = text(each.title);
      if (!each.place.empty()) how += QStringLiteral(" at ") + text(each.place);
      rows.add(QStringLiteral("finding"),
               how + QStringLiteral(": ") + exact_bytes(side.bytes.value) + QStringLiteral(" on ") +
                   ranks_text(side.ranks) + QStringLiteral(", not on ") + ranks_text(each.without),
               side.ranks);
    }
  });
  if (comparison.ends.size() > 1) {
    for (const analyzer::LastGather& end : comparison.ends) {
      rows.add(QStringLiteral("ends at"),
               (end.step ? QStringLiteral("step %1, gather %2 (%3)")
                               .arg(*end.step)
                               .arg(end.position + 1)
                               .arg(key_text(comparison, end.key))
                         : QStringLiteral("no gather")) +
                   QStringLiteral(" on ") + ranks_text(end.ranks),
               end.ranks);
    }
  }
  rows.add(QStringLiteral("clocks"), clock_text(all));
  if (!comparison.lossy().empty()) {
    rows.add(QStringLiteral("lost records"), ranks_text(comparison.lossy()), comparison.lossy());
  }
  for (const std::string& path : comparison.left_out) {
    rows.add(QStringLiteral("left out"), text(path) + QStringLiteral(": no rank, or it took no part in the training"));
  }
  return rows.all();
}

std::vector<TableModel::ColumnOf> difference_columns() {
  return {{QStringLiteral("what")},  {QStringLiteral("change"), true}, {QStringLiteral("share"), true},
          {QStringLiteral("where")}, {QStringLiteral("before"), true}, {QStringLiteral("after"), true}};
}

std::vector<TableModel::Row> difference(const load::Comparison& comparison) {
  const analyzer::Difference& of = comparison.difference;
  std::vector<TableModel::Row> rows;
  const auto note = [&rows](const QString& what, const QString& where) {
    rows.push_back({{what, {}, {}, where, {}, {}}, {}, -1});
  };
  for (const analyzer::NumberDifference& number : of.numbers) {
    rows.push_back(difference_row(text(number.name), number.before, number.after, {}, {}));
    add_lines(number, rows);
  }
  for (const analyzer::FindingChange& finding : of.findings) {
    QString where = text(finding.title);
    if (!finding.holder.empty()) where += QStringLiteral(", held by ") + text(finding.holder);
    if (!finding.file.empty())
      where += QStringLiteral(", made at ") + text(short_path(finding.file)) + QLatin1Char(':') +
               QString::number(finding.line);
    rows.push_back(difference_row(QStringLiteral("finding ") + text(name_of(finding.became)), finding.before.value,
                                  finding.after.value, {}, where));
  }
  for (const analyzer::StepDifference& step : of.steps) {
    rows.push_back(difference_row(QStringLiteral("peak of step %1").arg(step.step), step.before.value, step.after.value,
                                  {}, {}, step.step));
  }
  if (rows.empty()) note(QStringLiteral("no difference"), QStringLiteral("%1 numbers are equal").arg(of.equal));
  note(QStringLiteral("operators"), text(wording::order_sentence(of.order)));
  if (of.steps_before != of.steps_after) {
    note(QStringLiteral("steps"), QStringLiteral("%1 before, %2 after").arg(of.steps_before).arg(of.steps_after));
  }
  for (const std::string& why : comparison.unfit) note(QStringLiteral("differences may come from"), text(why));
  return rows;
}

}  // namespace dcmt::gui::words
