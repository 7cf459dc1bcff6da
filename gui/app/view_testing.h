// A window with a trace that has a finding, without a display (QT_QPA_PLATFORM=offscreen). Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "analyzer/testing/test_trace.h"
#include "gui/app/main_window.h"
#include "gui/models/table_model.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui::testing {

using dcmt::testing::TestTrace;

inline constexpr int kPatienceMs = 20000;
inline constexpr std::int64_t kBytes = 1'048'584;

inline void two_steps(TestTrace& trace) {
  for (std::int64_t step = 1; step <= 2; ++step) {
    trace.phase("forward", [&] { dcmt::testing::add_zero3_graph(trace, 4, kBytes, false); });
    trace.step(step);
  }
}

class ViewTest : public ::testing::Test {
 protected:
  ViewTest() {
    two_steps(trace_);
    path_ = QString::fromStdString(trace_.save());
    window_.resize(1280, 800);
    window_.show();
  }

  void open(const QString& path) {
    QSignalSpy opened(&window_, &MainWindow::opened);
    QSignalSpy failed(&window_, &MainWindow::failed);
    window_.open(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty() || !failed.isEmpty(); }, kPatienceMs));
  }
  const TableModel& table(const QString& name) {
    for (const auto& [key, model] : window_.tables()) {
      if (key == name) return *model;
    }
    return *window_.tables().front().second;
  }

  /// Converts a point of the picture, in pixels of the display, to the window's coordinates.
  QPoint in_window(int x, int y) {
    const double ratio = window_.timeline().devicePixelRatioF();
    return {static_cast<int>((x + 0.5) / ratio), static_cast<int>((y + 0.5) / ratio)};
  }

  TestTrace trace_;
  QString path_;
  MainWindow window_;
};

}  // namespace dcmt::gui::testing
