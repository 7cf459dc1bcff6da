#include "gui/models/background.h"

#include <QMetaObject>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

namespace dcmt::gui {

struct Background::Run {
  std::atomic<bool> stop{false};
  std::jthread thread;
};

Background::Background(QObject* parent) : QObject(parent) {}

Background::~Background() { cancel(); }

void Background::cancel() {
  ++number_;
  busy_ = false;
  if (run_) run_->stop = true;
  run_.reset();  // waits for its thread, which stops soon
}

void Background::start(std::function<Answer(const analyzer::Watch& watch)> work) {
  cancel();
  busy_ = true;
  run_ = std::make_unique<Run>();
  run_->thread = std::jthread([this, work = std::move(work), number = number_, stop = &run_->stop] {
    Answer answer;
    try {
      answer = work({{}, stop});
    } catch (const std::exception&) {  // only running out of memory leads here
      answer = nullptr;
    }
    QMetaObject::invokeMethod(
        this,
        [this, number, answer = std::move(answer)] {
          if (number != number_) return;  // there is a newer request
          busy_ = false;
          if (answer) answer();
        },
        Qt::QueuedConnection);
  });
}

}  // namespace dcmt::gui
