#include "cli/lint_text.h"

#include <fmt/format.h>

#include "cli/report_json.h"

namespace dcmt::cli {
namespace {

using analyzer::UndeletedName;
using analyzer::UndeletedStorage;

constexpr std::size_t kStatement = 80;  // characters of a source line

std::string storage_text(const UndeletedStorage& storage, const Style& style) {
  std::string text = fmt::format("{:>6}  {}\n", storage.line, cut(storage.statement, kStatement));
  text += fmt::format("        last used line {}{}; kept to the return, line {}, past {}\n", storage.last_use,
                      storage.release_line ? fmt::format(", released line {}", *storage.release_line) : "",
                      storage.return_line, counted(storage.calls_after, "call"));
  for (const UndeletedName& name : storage.names) {
    text += fmt::format("{:>6}  {}   {}\n", name.line, left(cut(name.statement, kStatement), 30),
                        style.bad(fmt::format("no `del {}` after line {}", name.name, name.delete_line)));
  }
  if (!storage.deleted.empty()) text += fmt::format("        deleted: {}\n", fmt::join(storage.deleted, ", "));
  return text;
}

Json name_json(const UndeletedName& name) {
  return {{"name", name.name},
          {"line", name.line},
          {"statement", name.statement},
          {"aliases", name.aliases.empty() ? Json() : Json(name.aliases)},
          {"missing_delete_after", name.delete_line}};
}

Json storage_json(const UndeletedStorage& storage) {
  Json names = Json::array();
  for (const UndeletedName& name : storage.names) names.push_back(name_json(name));
  return {{"function", storage.function},       {"line", storage.line},
          {"statement", storage.statement},     {"operator", storage.call.empty() ? Json() : Json(storage.call)},
          {"names", std::move(names)},          {"deleted_names", storage.deleted},
          {"last_use_line", storage.last_use},  {"release_line", optional_json(storage.release_line)},
          {"return_line", storage.return_line}, {"calls_after", storage.calls_after}};
}

}  // namespace

std::string lint_text(const std::vector<LintedFile>& files, const Style& style) {
  std::int64_t names = 0;
  std::int64_t storages = 0;
  std::string body;
  for (const LintedFile& file : files) {
    std::string function;
    for (const UndeletedStorage& storage : file.storages) {
      ++storages;
      names += static_cast<std::int64_t>(storage.names.size());
      if (storage.function != function) {
        function = storage.function;
        const std::string copy = file.trace.empty() ? "" : "   copied in " + file.trace;
        body += "\n" + style.bold(file.path) + "  " + function + copy + "\n";
      }
      body += storage_text(storage, style);
    }
  }
  const std::string looked = counted(static_cast<std::int64_t>(files.size()), "generated file");
  if (storages == 0) return fmt::format("No finding in {}.\n", looked);
  return style.bold(fmt::format("{} never deleted, though what {} is dead: {} in {}.",
                                names == 1 ? "1 name is" : grouped(names) + " names are",
                                names == 1 ? "it names" : "they name", counted(storages, "storage"), looked)) +
         "\n" + body;
}

Json lint_json(const std::vector<LintedFile>& files) {
  Json list = Json::array();
  for (const LintedFile& file : files) {
    Json storages = Json::array();
    for (const UndeletedStorage& storage : file.storages) storages.push_back(storage_json(storage));
    list.push_back({{"path", file.path},
                    {"trace", file.trace.empty() ? Json() : Json(file.trace)},
                    {"storages", std::move(storages)}});
  }
  return {{"version", kJsonVersion}, {"command", "lint"}, {"files", std::move(list)}};
}

}  // namespace dcmt::cli
