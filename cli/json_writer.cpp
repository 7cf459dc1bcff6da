#include "cli/json_writer.h"

#include <nlohmann/json.hpp>

namespace dcmt::cli {
namespace {

/// Numbers and texts as the JSON library writes them.
template <class Value>
std::string scalar(const Value& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void JsonWriter::begin(char bracket) {
  text_ += bracket;
  ++depth_;
  empty_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!empty_) line();
  text_ += bracket;
  empty_ = false;
}

void JsonWriter::item() {
  if (!empty_) text_ += ',';
  empty_ = false;
  line();
}

void JsonWriter::key(std::string_view name) {
  item();
  text(name);
  text_ += ": ";
}

void JsonWriter::null() { text_ += "null"; }
void JsonWriter::boolean(bool value) { text_ += value ? "true" : "false"; }
void JsonWriter::integer(std::int64_t value) { text_ += std::to_string(value); }
void JsonWriter::number(double value) { text_ += scalar(value); }
void JsonWriter::text(std::string_view value) { text_ += scalar(value); }
void JsonWriter::line() { text_.append("\n").append(2 * depth_, ' '); }

JsonDocument::JsonDocument(std::string_view command) {
  writer_.begin('{');
  writer_.key("version");
  writer_.value(kJsonVersion);
  writer_.key("command");
  writer_.value(command);
}

std::string JsonDocument::finish() {
  writer_.end('}');
  return writer_.take() + "\n";
}

TracesDocument::TracesDocument(std::string_view command) : JsonDocument(command) {
  writer_.key("traces");
  writer_.begin('[');
}

std::string TracesDocument::finish() {
  writer_.end(']');
  return JsonDocument::finish();
}

}  // namespace dcmt::cli
