#include "gui/models/fact_rows.h"

#include "gui/models/words.h"
#include "trace/base/code_path.h"

namespace dcmt::gui::words {
namespace {

/// A short name of a file: names of generated files are long and have no meaning.
QString file_name(std::string_view path) {
  constexpr qsizetype kMostLetters = 20;
  QString name = text(short_path(path));
  const qsizetype slash = name.lastIndexOf(QLatin1Char('/')) + 1;
  const qsizetype dot = name.lastIndexOf(QLatin1Char('.'));
  if (dot - slash > kMostLetters) name = name.left(slash + 8) + QStringLiteral("…") + name.mid(dot);
  return name;
}

/// "forward: buf5, x (one object) (unproven)".
QString holder_of(const analyzer::HolderPath& path) {
  QString names;
  for (const analyzer::HolderName& name : path.names) {
    names += (names.isEmpty() ? QString() : QStringLiteral(", ")) + text(name.name.value_or("(evaluation stack)"));
  }
  return text(path.function.value_or("a frame")) + QStringLiteral(": ") + names +
         (path.names.size() > 1 ? QStringLiteral(" (one object)") : QString()) +
         (path.certain ? QString() : QStringLiteral(" (unproven)"));
}

void add_path(std::vector<TableModel::Row>& rows, const analyzer::HolderPath& path) {
  add(rows, "held by", holder_of(path));
  for (const analyzer::HolderName& name : path.names) {
    if (!name.name || !name.line || !path.file) continue;
    QString line = file_name(*path.file) + QLatin1Char(':') + QString::number(*name.line);
    if (name.assignment) line += QStringLiteral("   ") + text(*name.assignment);
    add(rows, path.generated ? "generated" : "line", line);
    if (name.delete_line) {
      add(rows, "deleted", QStringLiteral("line ") + QString::number(*name.delete_line));
    } else if (name.kind == analyzer::HolderKind::kLocal) {
      add(rows, "deleted",
          QStringLiteral("not before the return") +
              (path.return_line ? QStringLiteral(", line ") + QString::number(*path.return_line) : QString()));
    }
  }
  if (path.model_file && path.model_line) {
    QString line = file_name(*path.model_file) + QLatin1Char(':') + QString::number(*path.model_line);
    if (path.model_text) line += QStringLiteral("   ") + text(*path.model_text);
    add(rows, "model's line", line);
  }
}

}  // namespace

void add(std::vector<TableModel::Row>& rows, const char* label, const QString& value) {
  if (!value.isEmpty()) rows.push_back({{QString::fromUtf8(label), value}, {}, 0});
}

QString site(std::string_view all) {
  const QString whole = text(all);
  const qsizetype colon = whole.indexOf(QLatin1Char(':'));
  return colon < 0 ? whole : file_name(all.substr(0, all.find(':'))) + whole.mid(colon);
}

QString place(const model::Actor& by) {
  QString who;
  if (by.outer_operator) who = text(*by.outer_operator);
  if (!by.stack.empty()) who += (who.isEmpty() ? QString() : QStringLiteral(" at ")) + site(by.site);
  return who;
}

QString frame(std::string_view file, std::int64_t line, std::string_view function) {
  return file_name(file) + QLatin1Char(':') + QString::number(line) + QLatin1Char(' ') + text(function);
}

void add_holders(std::vector<TableModel::Row>& rows, const analyzer::Holders& holders) {
  for (std::size_t i = 0; i < holders.paths.size() && i < kMostFacts; ++i) add_path(rows, holders.paths[i]);
  if (holders.paths.empty()) {
    add(rows, "held by",
        holders.tensors.empty() ? QStringLiteral("no holder that was found")
                                : QStringLiteral("%1 tensors without a named holder").arg(holders.tensors.size()));
  }
  QString counts;
  for (const analyzer::CountSum& sum : holders.sums()) {
    if (!counts.isEmpty()) counts += QStringLiteral(" · ");
    counts += text(name_of(sum.subject)) +
              QStringLiteral(": %1 = %2 explained + %3").arg(sum.count).arg(sum.explained).arg(sum.unexplained);
  }
  add(rows, "counts", counts);
}

}  // namespace dcmt::gui::words
