// A link that opens the same view: "dcmt:/out/rank0.dcmt#view?device=cuda:0&from=812&to=4711&select=finding:1&at=1301".
#pragma once

#include <QList>
#include <QString>

#include <cstdint>
#include <optional>

namespace dcmt::gui {

struct Link {
  QString path;
  QString device;                       ///< empty: the first
  std::optional<qint64> from, to;       ///< sequence numbers of what is seen; nullopt: the whole run
  QString select, at, by;               ///< as the options of the same names
  bool events = false;                  ///< the axis
  std::optional<QList<qint64>> ticked;  ///< findings; nullopt: as the report has them
  QString arrange{};                    ///< as the option; empty: by kind

  friend bool operator==(const Link&, const Link&) = default;
};

[[nodiscard]] QString text_of(const Link& link);
[[nodiscard]] bool is_link(const QString& text);
/// nullopt: it is none, or has something that no link has.
[[nodiscard]] std::optional<Link> link_of(const QString& text);

}  // namespace dcmt::gui
