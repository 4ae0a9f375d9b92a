#include "lowtide/loader/tokens/token_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>

#include "lowtide/error.h"

namespace lowtide {
namespace {

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_glob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> matches(const std::string& pattern) {
  if (pattern.find("**") != std::string::npos) {
    throw std::invalid_argument(fmt::format(
        "{}: ** is not supported; in Python, give sorted(glob.glob(\"{}\", recursive=True))", pattern, pattern));
  }
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, globfree);
  // Sorted below, because glob(3) sorts by the locale.
  const int error = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  if (error == GLOB_NOSPACE) throw std::bad_alloc();
  if (error != 0) throw IoError(fmt::format("no file matches {}", pattern), ENOENT, pattern);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> expanded(const std::string& path) {
  if (is_file(path)) return {path};
  if (is_file(path + ".bin") && is_file(path + ".idx")) return {path + ".bin"};
  if (!exists(path) && is_glob(path)) return matches(path);
  return {path};
}

std::optional<std::string> with_ending(const std::string& path, std::string_view from, std::string_view to) {
  if (!path.ends_with(from)) return std::nullopt;
  return path.substr(0, path.size() - from.size()).append(to);
}

}  // namespace

std::optional<std::string> index_path(const std::string& bin_path) { return with_ending(bin_path, ".bin", ".idx"); }
std::optional<std::string> bin_path(const std::string& index_path) { return with_ending(index_path, ".idx", ".bin"); }

std::vector<std::string> token_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) throw std::invalid_argument("no token files were given");
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : expanded(path)) files.push_back(std::move(file));
  }
  const std::set<std::string> given(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    const auto bin = bin_path(file);
    return bin && given.contains(*bin);
  });
  return files;
}

}  // namespace lowtide
