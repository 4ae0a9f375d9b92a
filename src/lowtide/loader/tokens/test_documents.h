// Files of tokens and of documents for tests, written byte by byte: nothing of the library that reads them has a part in it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/io/test_file.h"
#include "lowtide/loader/tokens/documents.h"

namespace lowtide {

using Starts = std::vector<std::uint64_t>;

template <class T>
void put(std::string& out, T value, bool big_endian = false) {
  std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  out += bytes;
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool big_endian = false) {
  std::string out;
  for (const T value : values) put(out, value, big_endian);
  return out;
}

inline Starts starts_of(const Documents& documents) {
  Starts starts;
  for (std::uint64_t i = 0; i < documents.count(); ++i) starts.push_back(documents.start(i));
  return starts;
}

inline std::vector<std::uint64_t> lengths_of(const Documents& documents) {
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < documents.count(); ++i) lengths.push_back(documents.end(i) - documents.start(i));
  return lengths;
}

// Writes token files and indexes them, under a budget of 64 MiB.
class DocumentsTest : public testing::Test {
 protected:
  DocumentsTest() { set_budget(std::uint64_t{64_MiB}); }
  ~DocumentsTest() override { set_interrupt_hook(nullptr); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    io::TestFolder::make_cold(folder_ / name);
    return folder_ / name;
  }

  io::TestFolder folder_;
};

}  // namespace lowtide
