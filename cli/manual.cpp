#include "cli/manual.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/text.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

/// All commands below `app`, beginning with itself, each with its words: "dc-memtrace show peak".
void collect(const CLI::App& app, const std::string& words, std::vector<std::pair<std::string, const CLI::App*>>& all) {
  all.emplace_back(words, &app);
  for (const CLI::App* command : commands_of(app)) collect(*command, words + " " + command->get_name(), all);
}

std::string joined_with(const std::string& text, char separator) {
  std::string joined = text;
  for (char& c : joined) {
    if (c == ' ') c = separator;
  }
  return joined;
}

/// Escapes text for troff.
std::string roff(const std::string& text) {
  std::string escaped;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\' || c == '-') escaped += '\\';
    escaped += c == '\\' ? 'e' : c;
    begins = c == '\n';
  }
  return escaped;
}

std::string page(const CLI::App& app, const std::string& words) {
  std::string text = fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", joined_with(words, '-'),
                                 roff(joined_with(words, '-')), roff(app.get_description()), roff(words));
  const std::vector<const CLI::App*> commands = commands_of(app);
  text += commands.empty() ? "[OPTIONS]" : "COMMAND";
  for (const CLI::Option* option : options_of(app)) {
    if (option->get_positional()) text += " " + roff(option->get_name());
  }
  text += "\n";
  if (!commands.empty()) text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
  }
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(app)) {
    const std::string value = option->get_items_expected_max() > 0 ? " " + option->get_type_name() : "";
    text += fmt::format(".TP\n.B {}{}\n{}", roff(option->get_name(false, true)), roff(value),
                        roff(option->get_description()));
    if (!option->get_default_str().empty()) text += roff(" (default: " + option->get_default_str() + ")");
    text += "\n";
  }
  if (!app.get_footer().empty()) text += ".SH NOTES\n.nf\n" + roff(app.get_footer()) + "\n.fi\n";
  return text;
}

/// The words that can follow a command, with their meanings.
std::vector<std::pair<std::string, std::string>> words_after(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const CLI::App* command : commands_of(app)) words.emplace_back(command->get_name(), command->get_description());
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) words.emplace_back("--" + name, option->get_description());
  }
  return words;
}

/// Shell text that follows the words typed so far and stores in `at` the command that they name.
constexpr char kWalk[] = R"(  local at=dc-memtrace word
  for word in "${typed[@]}"; do
    [[ $word == -- ]] && { at=job; break; }
    case "$at $word" in
%s    esac
  done
)";

std::string walk(const std::vector<std::pair<std::string, const CLI::App*>>& all) {
  std::string cases;
  for (std::size_t i = 1; i < all.size(); ++i)
    cases += fmt::format("      {}) at={} ;;\n", in_quotes(all[i].first), in_quotes(all[i].first));
  std::string text = kWalk;
  return text.replace(text.find("%s"), 2, cases);
}

std::string bash(const std::vector<std::pair<std::string, const CLI::App*>>& all) {
  std::string text =
      "# bash completion of dc-memtrace, written from its commands\n_dc_memtrace() {\n"
      "  local typed=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\") current=${COMP_WORDS[COMP_CWORD]} words=\n" +
      walk(all) + "  case $at in\n";
  for (const auto& [name, app] : all) {
    std::string words;
    for (const auto& [word, meaning] : words_after(*app)) words += (words.empty() ? "" : " ") + word;
    text += fmt::format("    {}) words={} ;;\n", in_quotes(name), in_quotes(words));
  }
  return text +
         "  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  [[ $current == -* || $at == dc-memtrace ]] || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f "
         "-- "
         "\"$current\")\n}\ncomplete -o filenames -F _dc_memtrace dc-memtrace\n";
}

std::string zsh(const std::vector<std::pair<std::string, const CLI::App*>>& all) {
  std::string text =
      "#compdef dc-memtrace\n# zsh completion of dc-memtrace, written from its commands\n_dc_memtrace() {\n"
      "  local -a typed items\n  typed=(\"${(@)words[2,CURRENT-1]}\")\n" +
      walk(all) + "  case $at in\n";
  for (const auto& [name, app] : all) {
    text += fmt::format("    {})\n      items=(\n", in_quotes(name));
    for (const auto& [word, meaning] : words_after(*app)) text += "        " + in_quotes(word + ":" + meaning) + "\n";
    text += "      ) ;;\n";
  }
  return text +
         "  esac\n  [[ $PREFIX == -* || $at == dc-memtrace ]] || _files\n  (( $#items )) && _describe dc-memtrace "
         "items\n}\n"
         "_dc_memtrace \"$@\"\n";
}

Status write(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) return {ErrorCode::kIo, file.string() + ": cannot be written."};
  return {};
}

}  // namespace

Status write_manual(const CLI::App& app, const std::string& folder) {
  std::vector<std::pair<std::string, const CLI::App*>> all;
  collect(app, app.get_name(), all);
  const fs::path share(folder);
  for (const auto& [words, command] : all) {
    const fs::path file = share / "man" / "man1" / (joined_with(words, '-') + ".1");
    if (const Status written = write(file, page(*command, words)); !written.ok()) return written;
  }
  if (const Status written = write(share / "bash-completion" / "completions" / "dc-memtrace", bash(all)); !written.ok())
    return written;
  return write(share / "zsh" / "site-functions" / "_dc-memtrace", zsh(all));
}

}  // namespace dcmt::cli
