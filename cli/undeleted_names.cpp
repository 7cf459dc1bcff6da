#include "cli/undeleted_names.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/child_output.h"
#include "cli/installation.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::cli {
namespace {

std::string text_or_empty(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

UndeletedStorage storage_of(const nlohmann::json& json) {
  UndeletedStorage storage;
  json.at("function").get_to(storage.function);
  json.at("line").get_to(storage.line);
  json.at("statement").get_to(storage.statement);
  storage.call = text_or_empty(json.at("operator"));
  json.at("deleted_names").get_to(storage.deleted);
  json.at("last_use_line").get_to(storage.last_use);
  json.at("return_line").get_to(storage.return_line);
  json.at("calls_after").get_to(storage.calls_after);
  if (json.at("release_line").is_number_integer()) storage.release_line = json.at("release_line").get<std::int64_t>();
  for (const nlohmann::json& name : json.at("names")) {
    storage.names.push_back({name.at("name").get<std::string>(), name.at("line").get<std::int64_t>(),
                             name.at("statement").get<std::string>(), text_or_empty(name.at("aliases")),
                             name.at("missing_delete_after").get<std::int64_t>()});
  }
  return storage;
}

ReadWrapper wrapper_of(const nlohmann::json& json) {
  ReadWrapper wrapper;
  if (json.is_null()) return wrapper;
  wrapper.generated = true;
  if (json.contains("error")) {
    wrapper.error = json.at("error").get<std::string>();
    return wrapper;
  }
  for (const nlohmann::json& storage : json.at("storages")) wrapper.storages.push_back(storage_of(storage));
  return wrapper;
}

Expected<std::vector<ReadWrapper>> parsed(const std::string& python, const std::string& output, std::size_t files) {
  std::vector<ReadWrapper> wrappers;
  try {
    for (const nlohmann::json& file : nlohmann::json::parse(output)) wrappers.push_back(wrapper_of(file));
    if (wrappers.size() == files) return wrappers;
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  return Error{ErrorCode::kCannotRecord, python +
                                             " answered something else than what was asked: name a Python of 3.8 "
                                             "or newer with --python."};
}

}  // namespace

Expected<std::vector<ReadWrapper>> undeleted_names(const std::string& python, const std::vector<std::string>& files,
                                                   const std::vector<std::string>& first_argument) {
  if (files.empty()) return std::vector<ReadWrapper>();
  const ScratchFolder folder;
  const std::string request = (folder.path() / "request.json").string();
  std::ofstream file(request);
  file << nlohmann::json{{"operators", first_argument}, {"files", files}}.dump(
      -1, ' ', true, nlohmann::json::error_handler_t::replace);
  file.close();
  if (folder.path().empty() || !file) {
    return Error{ErrorCode::kCannotRecord, "no file can be written among the temporary ones: set TMPDIR to another."};
  }
  // Isolated and without site: neither the folder nor the user's packages influence the imports.
  const std::optional<std::string> output =
      output_of(python, {"-I", "-S", (data_folder() / "undeleted_names.py").string(), request});
  if (!output) {
    return Error{ErrorCode::kCannotRecord,
                 python + " cannot parse generated code: name a Python of 3.8 or newer with --python."};
  }
  return parsed(python, *output, files.size());
}

}  // namespace dcmt::cli
