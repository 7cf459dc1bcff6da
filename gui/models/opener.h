// Opens traces in a separate thread. Only the newest request is answered.
#pragma once

#include <QObject>
#include <QString>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "render/load/session.h"
#include "render/scene/overview.h"

namespace dcmt::gui {

using SessionPointer = std::shared_ptr<load::Session>;
using OverviewPointer = std::shared_ptr<const scene::Overview>;

class Opener : public QObject {
  Q_OBJECT

 public:
  explicit Opener(QObject* parent = nullptr);
  ~Opener() override;

  void open(const std::string& path);
  /// Stops the work. Nothing is opened.
  void cancel();
  [[nodiscard]] bool busy() const { return busy_; }

 signals:
  /// The curve, if it can be shown before the rest is loaded.
  void overview(dcmt::gui::OverviewPointer overview);
  void progress(double share);
  void opened(dcmt::gui::SessionPointer session);
  void failed(const QString& why, int exit_code);

 private:
  struct Work;

  void finish(int number, const Expected<SessionPointer>& session);

  std::unique_ptr<Work> work_;
  int number_ = 0;
  bool busy_ = false;
};

}  // namespace dcmt::gui
