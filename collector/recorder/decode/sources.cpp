#include "collector/recorder/decode/sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMaxSourceBytes = 4u << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Returns the whole file, or nothing. The path came from the traced process: it may name a pipe or a device.
std::optional<std::string> read_source(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  const bool usable = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 &&
                      static_cast<std::size_t>(info.st_size) <= kMaxSourceBytes;
  std::string text(usable ? static_cast<std::size_t>(info.st_size) : 0, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd, &text[done], text.size() - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  ::close(fd);
  if (!usable) return std::nullopt;
  return text;
}

/// `File "X", line N, in F` → X and N.
std::optional<ModelLine> parse_entry(std::string_view line) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  line = trimmed(line);
  if (!line.starts_with(kFile)) return std::nullopt;
  const std::size_t end = line.find(kLine, kFile.size());
  if (end == std::string_view::npos) return std::nullopt;
  ModelLine entry;
  entry.file = line.substr(kFile.size(), end - kFile.size());
  const std::string_view number = line.substr(end + kLine.size());
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), entry.line);
  if (error != std::errc() || entry.line <= 0 || entry.file.empty()) return std::nullopt;
  return entry;
}

bool inside_torch(std::string_view file) {
  return file.find("site-packages/torch/") != std::string_view::npos ||
         file.find("dist-packages/torch/") != std::string_view::npos;
}

}  // namespace

std::optional<ModelLine> innermost_model_line(std::string_view stack_text) {
  std::optional<ModelLine> found;
  bool code_follows = false;
  while (!stack_text.empty()) {
    const std::size_t end = stack_text.find('\n');
    const std::string_view line = stack_text.substr(0, end);
    stack_text = end == std::string_view::npos ? std::string_view() : stack_text.substr(end + 1);
    if (const auto entry = parse_entry(line)) {
      code_follows = !inside_torch(entry->file);
      if (code_follows) found = entry;
    } else if (code_follows) {
      found->code = trimmed(line);
      code_follows = false;
    }
  }
  return found;
}

Status Sources::resume() {
  Database& database = journal_.writer.database();
  DCMT_RETURN_IF_ERROR(each_row_of<SourceRow>(
      database, "", [this](const SourceRow& row) { files_.try_emplace(row.path, split(std::string(row.text))); }));
  return each_row_of<SourceLineRow>(database, "", [this](const SourceLineRow& row) {
    std::optional<ModelRow> model;
    if (row.model_file != 0) model = ModelRow{row.model_file, row.model_line.value_or(0), row.model_text};
    model_lines_[row.source_path][row.line] = model;
  });
}

Sources::File Sources::split(std::string text) {
  File file;
  file.text = std::move(text);
  if (file.text.empty()) return file;
  file.line_starts.push_back(0);
  for (std::size_t at = file.text.find('\n'); at != std::string::npos; at = file.text.find('\n', at + 1)) {
    file.line_starts.push_back(at + 1);
  }
  return file;
}

Status Sources::see(RowId path, std::string_view path_text) {
  if (path == 0 || path_text.empty() || files_.contains(path)) return {};
  std::optional<std::string> text;
  if (path_text.front() != '<') text = read_source(std::string(path_text));  // "<string>", "<frozen …>"
  if (text) DCMT_RETURN_IF_ERROR(journal_.writer.write(SourceRow{0, path, *text}));
  files_.emplace(path, split(text ? std::move(*text) : std::string()));
  return {};
}

std::optional<std::string_view> Sources::line(RowId path, std::int64_t number) const {
  const auto file = files_.find(path);
  if (file == files_.end() || number < 1) return std::nullopt;
  const auto& starts = file->second.line_starts;
  const auto index = static_cast<std::size_t>(number - 1);
  if (index >= starts.size()) return std::nullopt;
  const std::string_view text = file->second.text;
  const std::size_t end = index + 1 < starts.size() ? starts[index + 1] : text.size();
  return trimmed(text.substr(starts[index], end - starts[index]));
}

Status Sources::map_line(RowId path, std::int64_t line, RowId stack_text_row, std::string_view stack_text) {
  const auto [entry, is_new] = model_lines_[path].try_emplace(line);
  if (!is_new) return {};
  SourceLineRow row;
  row.source_path = path;
  row.line = line;
  row.stack_text = stack_text_row;
  if (const auto model = innermost_model_line(stack_text)) {
    DCMT_ASSIGN_OR_RETURN(RowId file, journal_.writer.intern(model->file));
    DCMT_ASSIGN_OR_RETURN(RowId code, journal_.writer.intern(model->code));
    entry->second = ModelRow{file, model->line, code};
    row.model_file = file;
    row.model_line = model->line;
    row.model_text = code;
  }
  return journal_.writer.write(row);
}

std::optional<ModelRow> Sources::model_of(RowId path, std::int64_t line) const {
  const auto file = model_lines_.find(path);
  if (file == model_lines_.end()) return std::nullopt;
  const auto after = file->second.upper_bound(line);
  if (after == file->second.begin()) return std::nullopt;
  return std::prev(after)->second;
}

}  // namespace dcmt::recorder
