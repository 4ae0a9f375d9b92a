// Arrays in files for tests of loaders of rows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/io/test_file.h"
#include "lowtide/row_loader.h"

namespace lowtide {

class RowArrays {
 public:
  RowArrays() { set_budget(std::uint64_t{64_MiB}); }

  // Row i of `width` elements is i * width, i * width + 1, …
  template <class T = std::int32_t>
  Array counting(std::int64_t rows, std::int64_t width, const std::string& name = "x.bin") {
    std::vector<T> values(static_cast<std::size_t>(rows * width));
    std::iota(values.begin(), values.end(), T{0});
    return raw(name, values, {rows, width});
  }

  template <class T>
  Array raw(const std::string& name, const std::vector<T>& values, Shape shape, Endian endian = native_endian) {
    const std::string path = folder_ / name;
    std::ofstream file(path, std::ios::binary);
    for (T value : values) {
      auto* bytes = reinterpret_cast<char*>(&value);
      if (endian == Endian::big) std::reverse(bytes, bytes + sizeof(T));
      file.write(bytes, sizeof(T));
    }
    file.close();
    io::TestFolder::make_cold(path);
    return open(path, {.dtype = dtype_of<T>, .shape = std::move(shape), .endian = endian});
  }

 protected:
  io::TestFolder folder_;
};

// What a loader hands out, one batch after the other, to the end of the loop or `most` batches.
inline std::vector<std::vector<std::uint64_t>> batches_of(RowLoader& loader, std::size_t most = SIZE_MAX) {
  std::vector<std::vector<std::uint64_t>> batches;
  while (batches.size() < most) {
    auto batch = loader.next();
    if (!batch) break;
    batches.push_back(std::move(batch->rows));
  }
  return batches;
}

inline std::vector<std::uint64_t> joined(const std::vector<std::vector<std::uint64_t>>& batches) {
  std::vector<std::uint64_t> rows;
  for (const auto& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  return rows;
}

inline std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

inline std::vector<std::uint64_t> numbers(std::uint64_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// All but what is kept to be used again and freed when anyone needs it.
inline std::uint64_t firmly_held_bytes() {
  const Usage now = usage();
  const auto cache = now.by_purpose.find("cache");
  return now.held_bytes - (cache == now.by_purpose.end() ? 0 : cache->second);
}

}  // namespace lowtide
