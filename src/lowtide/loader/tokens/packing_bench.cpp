// How long does it take to pack a million documents, and how much padding is left? Next fit, which cannot be faster, beside it.
#include "lowtide/loader/tokens/packing.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/budget.h"

namespace lowtide {
namespace {

constexpr std::uint64_t document_count = 1'000'000;

// Log-normal, as the lengths of texts are.
Documents texts(double median, double sigma) {
  set_budget(std::uint64_t{1_GiB});
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> length(std::log(median), sigma);
  std::vector<std::uint64_t> starts;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < document_count; ++i) {
    starts.push_back(at);
    at += 1 + static_cast<std::uint64_t>(length(random));
  }
  return Documents::from_starts(starts, at);
}

void best_fit(benchmark::State& state, double median, double sigma, std::uint32_t capacity) {
  const Documents documents = texts(median, sigma);
  for (auto _ : state) {
    const Packing packing(documents, capacity);
    state.counters["waste"] = packing.waste();
  }
}

void next_fit(benchmark::State& state, double median, double sigma, std::uint32_t capacity) {
  const Documents documents = texts(median, sigma);
  for (auto _ : state) {
    std::uint64_t windows = 0, room = 0, tokens = 0;
    for (std::uint64_t i = 0; i < documents.count(); ++i) {
      const std::uint64_t length = documents.end(i) - documents.start(i), rest = length % capacity;
      windows += length / capacity + (rest > room);
      room = (rest > room ? capacity : room) - rest;
      tokens += length;
    }
    state.counters["waste"] = 1 - static_cast<double>(tokens) / (static_cast<double>(windows) * capacity);
  }
}

#define LOWTIDE_BOTH(name, ...)                                                  \
  BENCHMARK_CAPTURE(best_fit, name, __VA_ARGS__)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(next_fit, name, __VA_ARGS__)->Unit(benchmark::kMillisecond);
LOWTIDE_BOTH(median_400_capacity_2048, 400, 1.2, 2048)
LOWTIDE_BOTH(median_400_capacity_8192, 400, 1.2, 8192)
LOWTIDE_BOTH(median_100_capacity_4096, 100, 0.8, 4096)
LOWTIDE_BOTH(median_3000_capacity_131072, 3000, 1.0, 131072)
#undef LOWTIDE_BOTH

}  // namespace
}  // namespace lowtide
