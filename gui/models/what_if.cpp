#include "gui/models/what_if.h"

#include <QMetaObject>

#include <utility>

namespace dcmt::gui {

WhatIf::~WhatIf() = default;

void WhatIf::ask(SessionPointer session, std::size_t device, std::vector<std::int64_t> findings) {
  next_ = Question{std::move(session), device, std::move(findings)};
  if (!busy_) start();
}

void WhatIf::drop() {
  ++number_;
  next_.reset();
}

void WhatIf::start() {
  busy_ = true;
  thread_ = std::jthread([this, number = number_, question = *std::exchange(next_, std::nullopt)] {
    WithoutPointer without = question.session->devices[question.device]->without(question.findings);
    QMetaObject::invokeMethod(
        this, [this, number, without] { finish(number, without); }, Qt::QueuedConnection);
  });
}

void WhatIf::finish(int number, const WithoutPointer& without) {
  if (next_) {
    start();
    return;
  }
  busy_ = false;
  if (number == number_) emit found(without);
}

}  // namespace dcmt::gui
