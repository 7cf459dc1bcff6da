#include "gui/app/commands.h"

#include <QStringList>

#include "gui/app/main_window.h"

namespace dcmt::gui {
namespace {

using W = MainWindow;

constexpr Command kCommands[] = {
    {"File", "Open a trace …", "Ctrl+O", &W::choose_trace},
    {"File", "Open one of the last traces …", "Ctrl+R", &W::choose_recent},
    {"File", "Compare with an earlier trace …", "Ctrl+D", &W::choose_other},
    {"File", "Reload", "F5", &W::reload},
    {"File", "Save the picture …", "Ctrl+E", &W::choose_picture},
    {"File", "Quit", "Ctrl+Q", &W::quit},
    {"View", "Zoom in", "W Ctrl+Up", &W::zoom_in},
    {"View", "Zoom out", "S Ctrl+Down", &W::zoom_out},
    {"View", "Left", "A Ctrl+Left", &W::pan_left},
    {"View", "Right", "D Ctrl+Right", &W::pan_right},
    {"View", "Rows up", "PgUp", &W::rows_up},
    {"View", "Rows down", "PgDown", &W::rows_down},
    {"View", "Fit the selection or range", "F", &W::fit_selection},
    {"View", "Whole run", "0 Home", &W::whole_run},
    {"View", "View before", "Backspace Alt+Left", &W::view_before},
    {"View", "View after", "Alt+Right", &W::view_after},
    {"View", "Time or events as the axis", "T", &W::toggle_axis},
    {"View", "Stack the area by the next grouping", "C", &W::next_grouping},
    {"View", "Arrange by address, or by findings and sizes", "B", &W::toggle_arrangement},
    {"View", "Next device", "Ctrl+Shift+D", &W::next_device},
    {"View", "Next trace of the run", "R", &W::next_trace},
    {"Go", "Next finding", "N", &W::next_finding},
    {"Go", "Previous finding", "Shift+N", &W::previous_finding},
    {"Go", "Peak", "P", &W::go_to_peak},
    {"Go", "Go to a point …", "G", &W::go_to},
    {"Go", "Find an operator, a source line or a storage …", "Ctrl+F", &W::find},
    {"Go", "Next match", "F3", &W::next_match},
    {"Go", "Previous match", "Shift+F3", &W::previous_match},
    {"Go", "Next in the lane", ". Right", &W::next_in_lane},
    {"Go", "Previous in the lane", ", Left", &W::previous_in_lane},
    {"Go", "Lane above", "Up", &W::lane_above},
    {"Go", "Lane below", "Down", &W::lane_below},
    {"Go", "Live set at the pointer", "Space", &W::point_here},
    {"Go", "Clear the range, then the selection", "Esc", &W::clear_selection},
    {"Edit", "Copy the selection as text", "Ctrl+C", &W::copy},
    {"Edit", "Copy a link to this view", "Ctrl+L", &W::copy_link},
    {"Edit", "Tick or untick the finding", "X", &W::tick_finding},
    {"Panels", "Go to the findings", "1", &W::show_findings},
    {"Panels", "Go to the selection", "2", &W::show_selection},
    {"Panels", "Go to the story", "3", &W::show_story},
    {"Panels", "Go to the live set", "4", &W::show_live_set},
    {"Panels", "Go to the timeline", "5", &W::show_timeline},
    {"Panels", "Go to the ranks", "6", &W::show_ranks},
    {"Panels", "Go to the comparison", "7", &W::show_comparison},
    {"Panels", "Go to the holders", "8", &W::show_holders},
    {"Panels", "Go to the releases", "9", &W::show_releases},
    {"Panels", "Go to the survivors: what outlives its step", "Shift+1", &W::show_survivors},
    {"Panels", "Go to what is saved for backward", "Shift+2", &W::show_saved},
    {"Panels", "Go to the run: what was recorded and what is missing", "Shift+3", &W::show_run},
    {"Panels", "Go to the story on one axis", "Shift+5", &W::show_chart},
    {"Panels", "Go to the map of addresses", "Shift+6", &W::show_addresses},
    {"Panels", "SQL query", "Shift+4", &W::show_sql},
    {"Panels", "Next pane", "F6", &W::next_pane},
    {"Panels", "Hide or show the panels", "Q", &W::toggle_panels},
    {"Help", "All commands", "Ctrl+Shift+P", &W::show_palette},
    {"Help", "Keys", "? F1", &W::show_keys},
};

constexpr Gesture kGestures[] = {
    {"click on a bar", "selects it, in all panels"},
    {"click on the curve", "shows the live set of the highest point there"},
    {"click on a band's header", "opens or closes it"},
    {"double click on a bar", "fits it"},
    {"drag", "a range"},
    {"Shift+drag, middle drag", "moves the view"},
    {"wheel", "rows"},
    {"Ctrl+wheel", "zooms at the pointer"},
    {"Shift+wheel", "left and right"},
    {"drop a file", "opens it"},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const Gesture> gestures() { return kGestures; }

QString keys_text() {
  QString text;
  QString menu;
  for (const Command& command : kCommands) {
    if (menu != QLatin1String(command.menu)) {
      menu = QLatin1String(command.menu);
      text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + menu + QLatin1Char('\n');
    }
    const QString keys = QString::fromUtf8(command.keys).replace(QLatin1Char(' '), QStringLiteral(" or "));
    text += QStringLiteral("  %1 %2\n").arg(keys, -24).arg(QString::fromUtf8(command.text));
  }
  text += QStringLiteral("\nMouse\n");
  for (const Gesture& gesture : kGestures) {
    text += QStringLiteral("  %1 %2\n").arg(QString::fromUtf8(gesture.what), -24).arg(QString::fromUtf8(gesture.does));
  }
  return text;
}

}  // namespace dcmt::gui
