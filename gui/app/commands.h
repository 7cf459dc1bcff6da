// The table of all commands of the viewer: the source of menus, the palette, the keys and their help.
#pragma once

#include <QString>

#include <span>

namespace dcmt::gui {

class MainWindow;

struct Command {
  const char* menu;  ///< "View"
  const char* text;
  const char* keys;  ///< separated by blanks, as QKeySequence reads them; the first one is shown
  void (MainWindow::*run)();
};

[[nodiscard]] std::span<const Command> commands();

/// An action of the mouse, for the help.
struct Gesture {
  const char* what;
  const char* does;
};
[[nodiscard]] std::span<const Gesture> gestures();

/// A page with all keys, as plain text.
[[nodiscard]] QString keys_text();

}  // namespace dcmt::gui
