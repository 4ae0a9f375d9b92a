// How near do x and y of one batch, 12 rows of 1025 tokens, come to a memset of the same bytes? Everything is in L2.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "lowtide/kernels/widen.h"

namespace lowtide {
namespace {

// Batches begin at pages: where y is not aligned to 32 bytes, every store splits and all takes 1.2 times as long.
struct alignas(4096) Page {
  std::byte bytes[4096];
};

constexpr std::size_t row_count = 12, row_tokens = 1025, row_items = row_tokens - 1;

void widen_batch(benchmark::State& state, DType from, DType to) {
  const std::size_t from_bytes = itemsize(from), to_bytes = itemsize(to);
  std::vector<std::byte> tokens(row_count * row_tokens * from_bytes, std::byte{7});
  const std::size_t batch_bytes = row_count * row_items * to_bytes;
  std::vector<Page> x(batch_bytes / sizeof(Page)), y(x.size());
  for (auto _ : state) {
    for (std::size_t row = 0; row < row_count; ++row) {
      const std::byte* first = tokens.data() + row * row_tokens * from_bytes;
      std::byte* inputs = x.data()->bytes + row * row_items * to_bytes;
      std::byte* targets = y.data()->bytes + row * row_items * to_bytes;
      widen(first, from, 1, inputs, nullptr, to);
      benchmark::DoNotOptimize(widen(first + from_bytes, from, row_items - 1, inputs + to_bytes, targets, to));
      widen(first + row_items * from_bytes, from, 1, nullptr, targets + (row_items - 1) * to_bytes, to);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * batch_bytes));
}

void memset_batch(benchmark::State& state, DType to) {
  std::vector<std::byte> both(2 * row_count * row_items * itemsize(to));
  for (auto _ : state) {
    std::memset(both.data(), 1, both.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(both.size()));
}

BENCHMARK_CAPTURE(memset_batch, int64, DType::int64);
BENCHMARK_CAPTURE(widen_batch, uint16_to_int64, DType::uint16, DType::int64);
BENCHMARK_CAPTURE(widen_batch, uint32_to_int64, DType::uint32, DType::int64);
BENCHMARK_CAPTURE(widen_batch, int32_to_int64, DType::int32, DType::int64);
BENCHMARK_CAPTURE(memset_batch, int32, DType::int32);
BENCHMARK_CAPTURE(widen_batch, uint16_to_int32, DType::uint16, DType::int32);

}  // namespace
}  // namespace lowtide
