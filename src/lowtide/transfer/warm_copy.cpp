#include "lowtide/transfer/warm_copy.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/thread_pool.h"
#include "lowtide/kernels/copy.h"
#include "lowtide/transfer/warm_maps.h"

namespace lowtide {
namespace {

constexpr std::int64_t part_bytes = 1_MiB;  // worth a thread; between two of them Ctrl-C is looked for
constexpr std::size_t most_threads = 8;

// A part along the first axis. No destructors: the copy may be left by a signal.
struct Part {
  std::byte* to;
  const std::int64_t* memory_strides;
  std::int64_t offset;
  const std::int64_t* strides;
  const std::int64_t* shape;
  std::size_t ndim;
  std::size_t itemsize;
};

void copy_part(const std::byte* data, const void* context) {
  const Part& p = *static_cast<const Part*>(context);
  copy_strided(p.to, {p.memory_strides, p.ndim}, data + p.offset, {p.strides, p.ndim}, {p.shape, p.ndim}, p.itemsize);
}

// False as WarmMap::read.
bool copy(const io::WarmMap& map, io::File& file, const Part& part) {
  std::int64_t begin = part.offset, end = part.offset + static_cast<std::int64_t>(part.itemsize);
  for (std::size_t i = 0; i < part.ndim; ++i) {
    const std::int64_t far = (part.shape[i] - 1) * part.strides[i];
    (far < 0 ? begin : end) += far;
  }
  return begin >= 0 &&
         map.read(file, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end), copy_part, &part);
}

}  // namespace

bool copy_warm(io::File& file, const StridedBytes& wanted, std::byte* memory) {
  const auto map = WarmMaps::process().find(file);
  if (!map) return false;
  const std::size_t ndim = wanted.shape.size();
  auto bytes = static_cast<std::int64_t>(wanted.itemsize);
  for (const std::int64_t extent : wanted.shape) bytes *= extent;
  if (bytes <= part_bytes) {
    const Part all{
        memory,         wanted.memory_strides.data(), wanted.offset, wanted.strides.data(), wanted.shape.data(), ndim,
        wanted.itemsize};
    return copy(*map, file, all);
  }
  const std::int64_t rows = ndim == 0 ? 1 : wanted.shape[0];
  const std::int64_t row_bytes = bytes / rows;
  const std::int64_t rows_a_part = std::max<std::int64_t>(1, part_bytes / row_bytes);
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> whole{true};
  const auto work = [&] {
    std::vector<std::int64_t> shape(wanted.shape.begin(), wanted.shape.end());
    for (std::int64_t first; whole && (first = next.fetch_add(rows_a_part)) < rows;) {
      if (ndim > 0) shape[0] = std::min(rows_a_part, rows - first);
      const std::int64_t in_file = ndim > 0 ? first * wanted.strides[0] : 0;
      const std::int64_t in_memory = ndim > 0 ? first * wanted.memory_strides[0] : 0;
      const Part part{memory + in_memory,
                      wanted.memory_strides.data(),
                      wanted.offset + in_file,
                      wanted.strides.data(),
                      shape.data(),
                      ndim,
                      wanted.itemsize};
      if (!copy(*map, file, part)) whole = false;
    }
  };
  const auto parts = static_cast<std::size_t>((rows + rows_a_part - 1) / rows_a_part);
  const std::size_t threads = std::min({io::usable_threads(), most_threads, parts});
  if (threads <= 1) {
    work();
  } else {
    io::ThreadPool::process().share(threads - 1, work);
  }
  interrupt_point();
  return whole;
}

}  // namespace lowtide
