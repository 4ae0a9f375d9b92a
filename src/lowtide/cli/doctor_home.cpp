#include "lowtide/cli/doctor_home.h"

#include <glob.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

namespace lowtide::cli {
namespace {

std::string folder_of_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string whole(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return whole.substr(0, whole.rfind('/'));
}

std::string first_match(const std::string& pattern) {
  glob_t found{};
  std::string path;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0) path = found.gl_pathv[0];
  globfree(&found);
  return path;
}

}  // namespace

DoctorHome find_doctor_home() {
  const std::string bin = folder_of_program();
  std::vector<std::string> homes;
  if (const char* named = std::getenv("LOWTIDE_DOCTOR_HOME")) homes.emplace_back(named);
  for (const char* place :
       {"/../lib/python3*/site-packages/lowtide/doctor", "/../lib/python3*/dist-packages/lowtide/doctor",
        "/../lib/lowtide/doctor", "/../../../python/lowtide/doctor"})
    homes.push_back(bin + place);
  DoctorHome home;
  for (const std::string& folder : homes) {
    if (home.inject.empty() && !first_match(folder + "/inject/sitecustomize.py").empty())
      home.inject = first_match(folder + "/inject");
    if (home.sampler.empty()) home.sampler = first_match(folder + "/liblowtide_sampler.so");
  }
  if (home.sampler.empty()) home.sampler = first_match(bin + "/../liblowtide_sampler.so");
  return home;
}

}  // namespace lowtide::cli
