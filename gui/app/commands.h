// Every command of the viewer, once: menus, the palette, the keys and their help come from this table.
#pragma once

#include <QString>

#include <span>

namespace dcmt::gui {

class MainWindow;

struct Command {
  const char* menu;  ///< "View"
  const char* text;
  const char* keys;  ///< apart by a blank, as QKeySequence reads them; the first one is shown
  void (MainWindow::*run)();
};

[[nodiscard]] std::span<const Command> commands();

/// What the mouse does, for the help.
struct Gesture {
  const char* what;
  const char* does;
};
[[nodiscard]] std::span<const Gesture> gestures();

/// A page of all keys, as plain text.
[[nodiscard]] QString keys_text();

}  // namespace dcmt::gui
