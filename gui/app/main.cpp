// dc-memtrace-view: opens the window, or with --picture and --facts writes what it would show.
#include <QApplication>
#include <QCommandLineParser>
#include <QFontInfo>
#include <QScreen>
#include <QStyle>
#include <QStyleFactory>
#include <QTimer>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "gui/app/event_log.h"
#include "gui/app/export.h"
#include "gui/app/main_window.h"
#include "gui/widgets/timeline.h"

namespace {

using dcmt::gui::EventLog;
using dcmt::gui::MainWindow;

constexpr int kUsage = 2;
constexpr int kBadInput = 3;

struct Options {
  QString trace, compare, panel, picture, facts, log, at, select, by, arrange, theme;
  std::optional<dcmt::gui::Link> link;
  QSize size{1600, 1000};

  [[nodiscard]] bool headless() const { return !picture.isEmpty() || !facts.isEmpty(); }
};

int say(const QString& why, int exit_code) {
  std::fprintf(stderr, "dc-memtrace-view: %s\n", qPrintable(why));
  return exit_code;
}

/// 0, or the exit code for invalid options.
int read_options(const QStringList& words, Options& options) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "The timeline of a trace: what was allocated, what of it is dead but held, and who holds it.\n\n"
      "Exit codes: 0 fine, 2 usage, 3 bad input, 5 nothing to compare.");
  parser.addPositionalArgument(
      QStringLiteral("TRACE"),
      QStringLiteral("A trace (*.dcmt), a memory snapshot of torch, a folder of a run's traces, or a link to a view"),
      QStringLiteral("[TRACE]"));
  const QCommandLineOption help = parser.addHelpOption();
  const QCommandLineOption version = parser.addVersionOption();
  const QCommandLineOption picture("picture", "Write a picture (PNG) of the window and end", "FILE");
  const QCommandLineOption facts("facts", "Write what the window shows as JSON and end", "FILE");
  const QCommandLineOption log("log", "Write what is seen, and where, as a line of JSON at each change: for tests",
                               "FILE");
  const QCommandLineOption at(
      "at", "The point of the live set: peak, exit, end, oom, step:N, mark:NAME or a sequence number", "POINT");
  const QCommandLineOption select("select", "What is selected: finding:N or storage:N", "WHAT");
  const QCommandLineOption by("by",
                              "What the area is stacked by and the live set is grouped by: site, operator, phase, "
                              "kind, owner, holder or category",
                              "GROUPING");
  const QCommandLineOption arrange("arrange", "How the lifetimes are arranged: kind or address", "ARRANGEMENT");
  const QCommandLineOption size("size", "Of the window, 1600x1000 by default", "WIDTHxHEIGHT");
  const QCommandLineOption theme("theme", "light or dark; by default the desktop's", "THEME");
  const QCommandLineOption compare("compare", "An earlier trace, or a run's folder, to show beside it", "TRACE");
  const QCommandLineOption panel("panel",
                                 "The panel that is seen: live, story, on one axis, ranks, comparison, holders, "
                                 "releases, survivors, saved, addresses, run or sql",
                                 "PANEL");
  parser.addOptions({picture, facts, log, at, select, by, arrange, compare, panel, size, theme});
  if (!parser.parse(words)) return say(parser.errorText() + QStringLiteral(" See: dc-memtrace-view --help"), kUsage);
  if (parser.isSet(help)) parser.showHelp();
  if (parser.isSet(version)) parser.showVersion();
  if (parser.positionalArguments().size() > 1)
    return say("one trace or folder at a time. See: dc-memtrace-view --help", kUsage);
  options.trace = parser.positionalArguments().value(0);
  if (dcmt::gui::is_link(options.trace)) {
    options.link = dcmt::gui::link_of(options.trace);
    if (!options.link) return say("'" + options.trace + "' is no link of this build.", kUsage);
    options.trace = options.link->path;
  }
  options.picture = parser.value(picture);
  options.facts = parser.value(facts);
  options.log = parser.value(log);
  options.at = parser.value(at);
  options.select = parser.value(select);
  options.by = parser.value(by);
  options.arrange = parser.value(arrange);
  options.compare = parser.value(compare);
  options.panel = parser.value(panel);
  options.theme = parser.value(theme);
  if (parser.isSet(size)) {
    const QStringList parts = parser.value(size).split(QLatin1Char('x'));
    const int width = parts.value(0).toInt();
    const int height = parts.value(1).toInt();
    if (parts.size() != 2 || width < 320 || height < 240 || width > 16384 || height > 16384) {
      return say("--size '" + parser.value(size) + "': give it as 1920x1080, from 320x240 to 16384x16384.", kUsage);
    }
    options.size = {width, height};
  }
  if (!options.theme.isEmpty() && options.theme != "light" && options.theme != "dark") {
    return say("--theme '" + options.theme + "': it is light or dark.", kUsage);
  }
  if (options.headless() && options.trace.isEmpty()) return say("--picture and --facts need a trace.", kUsage);
  return 0;
}

void set_theme(const QString& theme) {
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QPalette palette = QApplication::style()->standardPalette();
  if (theme == QLatin1String("dark")) {
    palette.setColor(QPalette::Window, QColor(0x1f2227));
    palette.setColor(QPalette::WindowText, QColor(0xe6e8eb));
    palette.setColor(QPalette::Base, QColor(0x17191d));
    palette.setColor(QPalette::AlternateBase, QColor(0x1f2227));
    palette.setColor(QPalette::Text, QColor(0xe6e8eb));
    palette.setColor(QPalette::Button, QColor(0x2b2f36));
    palette.setColor(QPalette::ButtonText, QColor(0xe6e8eb));
    palette.setColor(QPalette::ToolTipBase, QColor(0x2b2f36));
    palette.setColor(QPalette::ToolTipText, QColor(0xe6e8eb));
    palette.setColor(QPalette::PlaceholderText, QColor(0x9aa2ad));
    palette.setColor(QPalette::Highlight, QColor(0x2f6fab));
    palette.setColor(QPalette::HighlightedText, Qt::white);
  } else {
    palette = QPalette(QColor(0xeceef1), QColor(0xf6f7f9));
    palette.setColor(QPalette::Base, Qt::white);
    palette.setColor(QPalette::AlternateBase, QColor(0xf5f7fa));
    palette.setColor(QPalette::Highlight, QColor(0x2f6fab));
    palette.setColor(QPalette::HighlightedText, Qt::white);
  }
  QApplication::setPalette(palette);
}

/// Qt's messages about the desktop are not about the trace. Instead of aborting after a fatal one, the program exits.
void say_what_is_wrong(QtMsgType type, const QMessageLogContext& /*where*/, const QString& text) {
  if (type == QtFatalMsg) {
    std::fputs(
        "dc-memtrace-view: no window can be opened here: there is no display, or it refuses. Files need none: "
        "--picture FILE, --facts FILE\n",
        stderr);
    std::_Exit(kBadInput);
  }
  if (type == QtCriticalMsg) say(text, kBadInput);
}

/// Writes the requested files after the trace was opened: 0, or an exit code.
int write_files(MainWindow& window, const Options& options) {
  if (options.link) {
    if (const QString why = window.show_link(*options.link); !why.isEmpty()) return say(why, kUsage);
  }
  if (!options.at.isEmpty()) {
    if (const QString why = window.show_point(options.at); !why.isEmpty()) return say(why, kUsage);
  }
  if (!options.by.isEmpty()) {
    if (const QString why = window.group_by(options.by); !why.isEmpty()) return say(why, kUsage);
  }
  if (!options.arrange.isEmpty()) {
    if (const QString why = window.arrange(options.arrange); !why.isEmpty()) return say(why, kUsage);
  }
  if (!options.select.isEmpty()) {
    if (const QString why = window.select(options.select); !why.isEmpty()) return say(why, kUsage);
  }
  if (!options.panel.isEmpty()) {
    if (const QString why = window.show_panel(options.panel); !why.isEmpty()) return say(why, kUsage);
  }
  if (options.panel == QLatin1String("addresses")) window.read_addresses_now(false);
  QApplication::processEvents();
  if (!options.picture.isEmpty() && !dcmt::gui::write_picture(window, options.picture)) {
    return say(options.picture + ": cannot be written.", kBadInput);
  }
  if (!options.facts.isEmpty() && !dcmt::gui::write_facts(window, options.facts)) {
    return say(options.facts + ": cannot be written.", kBadInput);
  }
  return 0;
}

int run(QApplication& app, const Options& options) {
  if (options.headless() || !options.theme.isEmpty()) set_theme(options.theme);
  if (options.headless()) {
    QFont font(QStringLiteral("DejaVu Sans"));
    font.setPixelSize(13);
    QApplication::setFont(font);
    if (QFontInfo(font).family() != QLatin1String("DejaVu Sans")) {
      return say("pictures need the font DejaVu Sans: install fonts-dejavu-core.", kBadInput);
    }
  }
  MainWindow window;
  window.resize(options.size);
  if (!options.headless()) window.keep_state();
  if (options.headless()) {
    QObject::connect(&window, &MainWindow::failed, &app,
                     [](const QString& why, int exit_code) { QApplication::exit(say(why, exit_code)); });
    QObject::connect(&window, &MainWindow::settled, &app, [&, compared = false]() mutable {
      if (!options.compare.isEmpty() && !std::exchange(compared, true)) {
        window.compare_with(options.compare);
        return;
      }
      QTimer::singleShot(0, &window, [&] { QApplication::exit(write_files(window, options)); });
    });
  }
  EventLog log(window);
  if (!options.log.isEmpty() && !log.open(options.log)) return say(options.log + ": cannot be written.", kBadInput);
  // A window that does not fit onto the screen would hide its last line.
  const QSize room = window.screen()->availableSize() - QSize(16, 48);
  if (!options.headless() && (window.width() > room.width() || window.height() > room.height()))
    window.setWindowState(window.windowState() | Qt::WindowMaximized);
  window.show();
  window.timeline().setFocus();
  QTimer::singleShot(0, &window, [&] {
    if (!options.trace.isEmpty()) window.open(options.trace);
  });
  if (!options.headless()) {
    QObject::connect(
        &window, &MainWindow::opened, &window,
        [&] {
          if (options.link) window.show_link(*options.link);
          if (!options.at.isEmpty()) window.show_point(options.at);
          if (!options.by.isEmpty()) window.group_by(options.by);
          if (!options.arrange.isEmpty()) window.arrange(options.arrange);
          if (!options.select.isEmpty()) window.select(options.select);
          if (!options.compare.isEmpty()) window.compare_with(options.compare);
          if (!options.panel.isEmpty()) window.show_panel(options.panel);
        },
        Qt::SingleShotConnection);
  }
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  qInstallMessageHandler(say_what_is_wrong);
  try {
    QCoreApplication::setApplicationName(QStringLiteral("dc-memtrace-view"));
    QCoreApplication::setApplicationVersion(QStringLiteral(DCMT_VERSION));
    Options options;
    {  // options are read before a display is opened: files and the help need none
      const QCoreApplication words(argc, argv);
      if (const int wrong = read_options(QCoreApplication::arguments(), options); wrong != 0) return wrong;
    }
    if (options.headless() && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    QApplication::setDesktopFileName(QStringLiteral("dc-memtrace-view"));
    return run(app, options);
  } catch (const std::exception&) {  // only running out of memory leads here
    std::fprintf(stderr, "dc-memtrace-view: there is not enough memory for this.\n");
    return kBadInput;
  }
}
