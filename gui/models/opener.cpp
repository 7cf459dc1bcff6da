#include "gui/models/opener.h"

#include <QMetaObject>

#include <exception>
#include <utility>

#include "render/load/overview.h"

namespace dcmt::gui {
namespace {

/// About the number of columns of a window.
constexpr std::size_t kStretches = 2000;

/// The exit codes of dc-memtrace (docs/viewer.md).
int exit_code_of(ErrorCode code) { return code == ErrorCode::kUsage ? 2 : code == ErrorCode::kStopped ? 130 : 3; }

Expected<SessionPointer> opened_session(const std::string& path, const analyzer::Watch& watch) {
  try {
    return load::open_session(path, watch);
  } catch (const std::exception&) {  // only running out of memory leads here
    return Error{ErrorCode::kBadInput, path + ": there is not enough memory for this trace."};
  }
}

}  // namespace

struct Opener::Work {
  std::atomic<bool> stop{false};
  std::jthread thread;
};

Opener::Opener(QObject* parent) : QObject(parent) {}

Opener::~Opener() { cancel(); }

void Opener::cancel() {
  ++number_;
  busy_ = false;
  if (work_) work_->stop = true;
  work_.reset();  // waits for its thread, which stops soon
}

void Opener::open(const std::string& path) {
  cancel();
  busy_ = true;
  work_ = std::make_unique<Work>();
  const int number = number_;
  std::atomic<bool>* stop = &work_->stop;
  work_->thread = std::jthread([this, path, number, stop] {
    int shown = -1;
    const auto report = [&](double share) {
      const int percent = static_cast<int>(share * 100);
      if (percent == std::exchange(shown, percent)) return;
      QMetaObject::invokeMethod(
          this,
          [this, number, share] {
            if (number == number_) emit progress(share);
          },
          Qt::QueuedConnection);
    };
    if (Expected<scene::Overview> overview = load::read_overview(path, kStretches); overview.ok()) {
      auto curve = std::make_shared<const scene::Overview>(std::move(*overview));
      QMetaObject::invokeMethod(
          this,
          [this, number, curve] {
            if (number == number_) emit this->overview(curve);
          },
          Qt::QueuedConnection);
    }
    Expected<SessionPointer> session = opened_session(path, {report, stop});
    QMetaObject::invokeMethod(
        this, [this, number, session = std::move(session)] { finish(number, session); }, Qt::QueuedConnection);
  });
}

void Opener::finish(int number, const Expected<SessionPointer>& session) {
  if (number != number_) return;  // there is a newer request
  busy_ = false;
  if (session.ok()) {
    emit opened(*session);
  } else {
    emit failed(QString::fromStdString(session.error().message), exit_code_of(session.error().code));
  }
}

}  // namespace dcmt::gui
