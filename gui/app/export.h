// Writes what the window shows to files: a picture, and facts for tests.
#pragma once

#include <QString>

namespace dcmt::gui {

class MainWindow;

/// Writes a PNG. False if it cannot be written.
bool write_picture(MainWindow& window, const QString& path);

/// Writes JSON. For the timeline: every text with its box, the bars, and the columns of the curve with exact bytes; for
/// every panel: its rows. False if it cannot be written.
bool write_facts(MainWindow& window, const QString& path);

}  // namespace dcmt::gui
