// What the window shows, into files: a picture, and facts that a test compares.
#pragma once

#include <QString>

namespace dcmt::gui {

class MainWindow;

/// PNG. False: it cannot be written.
bool write_picture(MainWindow& window, const QString& path);

/// JSON: of the timeline every text with its box, the bars, the columns of the curve with their exact bytes; of every
/// panel its rows. False: it cannot be written.
bool write_facts(MainWindow& window, const QString& path);

}  // namespace dcmt::gui
