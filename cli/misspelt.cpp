#include "cli/misspelt.h"

#include <CLI/CLI.hpp>

#include <vector>

#include "trace/base/closest_word.h"

namespace dcmt::cli {
namespace {

std::string unknown_option(const CLI::App& called, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* const option : called.get_options()) {
    for (const std::string& each : option->get_lnames()) names.push_back("--" + each);
  }
  return "unknown option " + name + "." + did_you_mean(name, names);
}

}  // namespace

std::optional<std::string> misspelt(const CLI::App& called) {
  std::vector<std::string> subcommands;
  for (const CLI::App* const each : called.get_subcommands(nullptr)) subcommands.push_back(each->get_name());
  std::vector<std::string> words = called.remaining();
  if (called.get_prefix_command() && words.size() > 1) words.resize(1);  // the others are of the command behind it
  for (const std::string& word : words) {
    if (word.size() > 1 && word.starts_with('-')) return unknown_option(called, word);
    if (!subcommands.empty()) {
      const char* const kind = called.get_parent() == nullptr ? "command" : "view";
      return std::string("unknown ") + kind + " '" + word + "'." + did_you_mean(word, subcommands);
    }
  }
  return std::nullopt;
}

}  // namespace dcmt::cli
