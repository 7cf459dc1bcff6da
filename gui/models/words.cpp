#include "gui/models/words.h"

#include "analyzer/model/quantities.h"

namespace dcmt::gui::words {

QString text(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
QString number(std::int64_t number) { return text(model::grouped(number)); }
QString bytes(std::int64_t bytes) { return text(model::rounded_bytes(bytes)); }
QString exact_bytes(std::int64_t bytes) { return text(model::exact_bytes(bytes)); }
QString time(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const double ms = static_cast<double>(ns) * 1e-6;
  return ns < 10 * kSecond && ns > -10 * kSecond ? QString::number(ms, 'f', 3) + QStringLiteral(" ms")
                                                 : QString::number(ms * 1e-3, 'f', 6) + QStringLiteral(" s");
}

QString title(const model::Finding& finding) {
  return QString::number(finding.number) + QLatin1Char(' ') + text(finding.title).toUpper();
}

}  // namespace dcmt::gui::words
