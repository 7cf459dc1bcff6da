// A link to a view: "dcmt:/out/rank0.dcmt#view?device=cuda:0&from=812&to=4711&select=finding:1&at=1301".
#pragma once

#include <QList>
#include <QString>

#include <cstdint>
#include <optional>

namespace dcmt::gui {

struct Link {
  QString path;
  QString device;                       ///< empty: the first device
  std::optional<qint64> from, to;       ///< visible sequence numbers; nullopt: the whole run
  QString select, at, by;               ///< the values of the options with these names
  bool events = false;                  ///< the axis shows events
  std::optional<QList<qint64>> ticked;  ///< findings; nullopt: those of the report
  QString arrange{};                    ///< the value of the option; empty: by kind

  friend bool operator==(const Link&, const Link&) = default;
};

[[nodiscard]] QString text_of(const Link& link);
[[nodiscard]] bool is_link(const QString& text);
/// nullopt if the text is not a link, or has an unknown part.
[[nodiscard]] std::optional<Link> link_of(const QString& text);

}  // namespace dcmt::gui
