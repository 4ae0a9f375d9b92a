// What does one index of a shuffle cost? Powers of two never walk a cycle; one more than that walks twice on average, the most.
#include <benchmark/benchmark.h>

#include "lowtide/permutation.h"

namespace lowtide {
namespace {

Permutation permutation_of(const benchmark::State& state) {
  return Permutation((std::uint64_t{1} << state.range(0)) + static_cast<std::uint64_t>(state.range(1)));
}

// Each call waits for the one before it, as in a loader that asks for one position at a time.
void one_at_a_time(benchmark::State& state) {
  const Permutation permutation = permutation_of(state);
  std::uint64_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(at = permutation(at));
}

void inverse_one_at_a_time(benchmark::State& state) {
  const Permutation permutation = permutation_of(state);
  std::uint64_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(at = permutation.inverse(at));
}

// Calls overlap, as in a batch of positions.
void in_order(benchmark::State& state) {
  const Permutation permutation = permutation_of(state);
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(permutation(position));
    position = position + 1 == permutation.size() ? 0 : position + 1;
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"2^", "plus"});
  bench->Args({3, 0})->Args({20, 0})->Args({20, 1})->Args({28, 219'564'544});  // the last is 488 million
  bench->Args({40, 1})->Args({62, 1})->Args({63, 0});
}

BENCHMARK(one_at_a_time)->Apply(sizes);
BENCHMARK(inverse_one_at_a_time)->Apply(sizes);
BENCHMARK(in_order)->Apply(sizes);

}  // namespace
}  // namespace lowtide
