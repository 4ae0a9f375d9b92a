// A file of known bytes for tests of this layer and those above it: byte i is pattern_byte(i). Gone with the object.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lowtide::io {

inline unsigned char pattern_byte(std::uint64_t i) { return static_cast<unsigned char>((i * 2654435761u) >> 13); }

// Under the working folder rather than /tmp, which may be memory: direct IO needs a disk.
class TestFolder {
 public:
  TestFolder()
      : path_(std::filesystem::current_path() /
              ("lowtide_test_" + std::to_string(getpid()) + "_" + std::to_string(next()))) {
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ / name; }
  std::size_t count() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }
  // Written, synced and out of the page cache, a minute ago: what is being written right now is not cached.
  std::string pattern(const std::string& name, std::uint64_t bytes) const {
    std::vector<char> data(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(pattern_byte(i));
    const std::string path = *this / name;
    std::ofstream(path, std::ios::binary).write(data.data(), static_cast<std::streamsize>(bytes));
    make_cold(path);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
    return path;
  }
  static void make_cold(const std::string& path);

 private:
  static int next() {
    static int counter = 0;
    return ++counter;
  }
  std::filesystem::path path_;
};

inline std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

// LOWTIDE_IO for as long as it lives.
class ForcedMode {
 public:
  explicit ForcedMode(const std::string& mode) { setenv("LOWTIDE_IO", mode.c_str(), 1); }
  ~ForcedMode() { unsetenv("LOWTIDE_IO"); }
  ForcedMode(const ForcedMode&) = delete;
  ForcedMode& operator=(const ForcedMode&) = delete;
};

}  // namespace lowtide::io

#include <fcntl.h>

inline void lowtide::io::TestFolder::make_cold(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  fsync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}
