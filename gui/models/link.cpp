#include "gui/models/link.h"

#include <QByteArray>
#include <QList>
#include <QStringList>

namespace dcmt::gui {
namespace {

const QString kScheme = QStringLiteral("dcmt:");
const QString kView = QStringLiteral("#view");

/// Characters with a meaning in a link are written as their numbers.
QString written(const QString& text) {
  return QString::fromLatin1(text.toUtf8().toPercentEncoding(QByteArray("/:.,_-+@ ")));
}
QString read(const QString& text) { return QString::fromUtf8(QByteArray::fromPercentEncoding(text.toUtf8())); }

}  // namespace

QString text_of(const Link& link) {
  QStringList parts;
  const auto add = [&parts](const char* key, const QString& value) {
    if (!value.isEmpty()) parts << QLatin1String(key) + QLatin1Char('=') + written(value);
  };
  add("device", link.device);
  if (link.from) add("from", QString::number(*link.from));
  if (link.to) add("to", QString::number(*link.to));
  if (link.events) add("axis", QStringLiteral("events"));
  add("select", link.select);
  add("at", link.at);
  add("by", link.by);
  add("arrange", link.arrange);
  if (link.ticked) {
    QStringList numbers;
    for (const qint64 finding : *link.ticked) numbers << QString::number(finding);
    parts << QStringLiteral("without=") + numbers.join(QLatin1Char(','));
  }
  return kScheme + written(link.path) + kView +
         (parts.isEmpty() ? QString() : QLatin1Char('?') + parts.join(QLatin1Char('&')));
}

bool is_link(const QString& text) { return text.startsWith(kScheme) && text.contains(kView); }

std::optional<Link> link_of(const QString& text) {
  if (!is_link(text)) return std::nullopt;
  const qsizetype view = text.indexOf(kView);
  Link link;
  link.path = read(text.mid(kScheme.size(), view - kScheme.size()));
  if (link.path.isEmpty()) return std::nullopt;
  QString rest = text.mid(view + kView.size());
  if (rest.isEmpty()) return link;
  if (!rest.startsWith(QLatin1Char('?'))) return std::nullopt;
  for (const QString& part : rest.mid(1).split(QLatin1Char('&'))) {
    const qsizetype equals = part.indexOf(QLatin1Char('='));
    if (equals < 0) return std::nullopt;
    const QString key = part.left(equals);
    const QString value = read(part.mid(equals + 1));
    bool is_number = true;
    if (key == QLatin1String("device")) {
      link.device = value;
    } else if (key == QLatin1String("from")) {
      link.from = value.toLongLong(&is_number);
    } else if (key == QLatin1String("to")) {
      link.to = value.toLongLong(&is_number);
    } else if (key == QLatin1String("axis")) {
      if (value != QLatin1String("events") && value != QLatin1String("time")) return std::nullopt;
      link.events = value == QLatin1String("events");
    } else if (key == QLatin1String("select")) {
      link.select = value;
    } else if (key == QLatin1String("at")) {
      link.at = value;
    } else if (key == QLatin1String("by")) {
      link.by = value;
    } else if (key == QLatin1String("arrange")) {
      link.arrange = value;
    } else if (key == QLatin1String("without")) {
      QList<qint64> numbers;
      for (const QString& number : value.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        numbers << number.toLongLong(&is_number);
        if (!is_number) return std::nullopt;
      }
      link.ticked = numbers;
    } else {
      return std::nullopt;
    }
    if (!is_number) return std::nullopt;
  }
  return link;
}

}  // namespace dcmt::gui
