// Computes the curve without the ticked findings in a separate thread. Only the newest request is answered.
#pragma once

#include <QObject>

#include <memory>
#include <vector>

#include "gui/models/opener.h"

namespace dcmt::gui {

using WithoutPointer = std::shared_ptr<const load::Without>;

class WhatIf : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~WhatIf() override;

  /// The session stays alive until the work is done.
  void ask(SessionPointer session, std::size_t device, std::vector<std::int64_t> findings);
  /// Drops the pending answer, because something else is shown.
  void drop();

 signals:
  void found(dcmt::gui::WithoutPointer without);

 private:
  void start();
  void finish(int number, const WithoutPointer& without);

  struct Question {
    SessionPointer session;
    std::size_t device = 0;
    std::vector<std::int64_t> findings;
  };
  std::optional<Question> next_;  ///< requested while a thread was busy
  std::jthread thread_;
  bool busy_ = false;
  int number_ = 0;  ///< number of the current request: older answers are dropped
};

}  // namespace dcmt::gui
