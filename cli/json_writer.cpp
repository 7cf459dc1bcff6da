#include "cli/json_writer.h"

#include <nlohmann/json.hpp>

namespace dcmt::cli {
namespace {

/// The number of bytes written at once.
constexpr std::size_t kPiece = 64 * 1024;

/// Numbers and strings in the form of the JSON library.
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
  if (out_ != nullptr && text_.size() >= kPiece) {
    *out_ << text_;
    text_.clear();
  }
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

namespace {

void begin_document(JsonWriter& writer, std::string_view command) {
  writer.begin('{');
  writer.key("version");
  writer.value(kJsonVersion);
  writer.key("command");
  writer.value(command);
}

}  // namespace

JsonDocument::JsonDocument(std::string_view command) { begin_document(writer_, command); }

std::string JsonDocument::finish() {
  writer_.end('}');
  return writer_.extract() + "\n";
}

TracesDocument::TracesDocument(std::string_view command, std::ostream& out) : out_(out), writer_(out) {
  begin_document(writer_, command);
  writer_.key("traces");
  writer_.begin('[');
}

void TracesDocument::finish() {
  writer_.end(']');
  writer_.end('}');
  out_ << writer_.extract() << "\n";
}

}  // namespace dcmt::cli
