#include "gui/models/what_if.h"

#include <QMetaObject>

#include <utility>

namespace dcmt::gui {

WhatIf::~WhatIf() = default;

void WhatIf::ask(SessionPointer session, std::size_t device, std::vector<std::int64_t> findings) {
  next_ = Question{std::move(session), device, std::move(findings)};
  if (!busy_) start();
}

void WhatIf::start() {
  busy_ = true;
  thread_ = std::jthread([this, question = *std::exchange(next_, std::nullopt)] {
    WithoutPointer without = question.session->devices[question.device]->without(question.findings);
    QMetaObject::invokeMethod(
        this, [this, without] { finish(without); }, Qt::QueuedConnection);
  });
}

void WhatIf::finish(const WithoutPointer& without) {
  if (next_) {
    start();
    return;
  }
  busy_ = false;
  emit found(without);
}

}  // namespace dcmt::gui
