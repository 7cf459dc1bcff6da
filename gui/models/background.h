// Work in a separate thread, one job at a time. Only the newest job is answered.
#pragma once

#include <QObject>

#include <functional>
#include <memory>

#include "analyzer/model/analysis.h"

namespace dcmt::gui {

class Background : public QObject {
  Q_OBJECT

 public:
  using Answer = std::function<void()>;

  explicit Background(QObject* parent = nullptr);
  ~Background() override;

  /// Stops a running job first; its answer is dropped.
  /// @param work  runs in the thread; the function that it returns runs in this object's thread afterwards
  void start(std::function<Answer(const analyzer::Watch& watch)> work);
  void cancel();
  [[nodiscard]] bool busy() const { return busy_; }

 private:
  struct Run;

  std::unique_ptr<Run> run_;
  int number_ = 0;
  bool busy_ = false;
};

}  // namespace dcmt::gui
