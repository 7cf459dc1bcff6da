// Work in a thread of its own, one at a time. Only the newest is answered.
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

  /// Work that runs is stopped first, and not answered.
  /// @param work  runs in the thread; what it returns runs in this object's, afterwards
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
