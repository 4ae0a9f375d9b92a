// How much faster than a loop over libm are the functions of floats, and how near do reductions come to reading memory?
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lowtide/kernels/simd.h"

namespace lowtide {
namespace {

template <class T>
std::vector<T> numbers(std::size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.1, 5);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

constexpr std::size_t strip = 2048;

template <class T>
void kernel(benchmark::State& state, Op op, Simd simd) {
  if (!simd_runs(simd)) {
    state.SkipWithError("not on this CPU");
    return;
  }
  const auto x = numbers<T>(strip), y = numbers<T>(strip);
  std::vector<T> out(strip);
  const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
  const auto* others = reinterpret_cast<const std::byte*>(y.data());
  const StripKernel run = strip_kernel(op, dtype_of<T>, simd);
  for (auto _ : state) {
    run({reinterpret_cast<std::byte*>(out.data()), {bytes, others}, strip, 0});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(strip));
}

template <class T, class Function>
void libm(benchmark::State& state, Function function) {
  const auto x = numbers<T>(strip), y = numbers<T>(strip);
  std::vector<T> out(strip);
  for (auto _ : state) {
    for (std::size_t i = 0; i < strip; ++i) out[i] = function(x[i], y[i]);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(strip));
}

struct Build {
  const char* name;
  Simd simd;
};
constexpr Build builds[] = {{"baseline", Simd::baseline}, {"avx2", Simd::avx2}, {"avx512", Simd::avx512}};

template <class T, class Function>
void compare(Op op, Function function) {
  const std::string name = std::string(facts(op).name) + (sizeof(T) == 4 ? "/float32/" : "/float64/");
  benchmark::RegisterBenchmark((name + "libm").c_str(), [=](benchmark::State& state) { libm<T>(state, function); });
  for (const Build& build : builds)
    benchmark::RegisterBenchmark((name + build.name).c_str(),
                                 [=](benchmark::State& state) { kernel<T>(state, op, build.simd); });
}

template <class Function>
void compare_both(Op op, Function function) {
  compare<float>(op, function);
  compare<double>(op, function);
}

// 64 MiB in strips of 16 KiB, which is more than the caches hold.
template <class T>
void reduce(benchmark::State& state, Reduction reduction, Simd simd) {
  if (!simd_runs(simd)) {
    state.SkipWithError("not on this CPU");
    return;
  }
  const std::vector<T> values(std::size_t{64} * 1024 * 1024 / sizeof(T), T(1));
  const ReduceKernel* kernel = reduce_kernel(reduction, dtype_of<T>, simd);
  std::vector<std::uint64_t> accumulator(kernel->state_bytes / 8);
  auto* bytes = reinterpret_cast<std::byte*>(accumulator.data());
  constexpr std::size_t run = 16384 / sizeof(T);
  kernel->init(bytes, 1);
  for (auto _ : state)
    for (std::size_t i = 0; i < values.size(); i += run)
      kernel->run(bytes, reinterpret_cast<const std::byte*>(values.data() + i), run, static_cast<std::int64_t>(i));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(values.size() * sizeof(T)));
}

void read_memory(benchmark::State& state) {
  const std::vector<std::uint64_t> values(8 * 1024 * 1024, 1);
  for (auto _ : state) {
    std::uint64_t all = 0;
    for (const std::uint64_t value : values) all ^= value;
    benchmark::DoNotOptimize(all);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(values.size() * 8));
}
BENCHMARK(read_memory);

template <class T>
void reductions(const char* name, Reduction reduction) {
  for (const Build& build : builds)
    benchmark::RegisterBenchmark(
        (std::string(name) + (sizeof(T) == 4 ? "/float32/" : "/float64/") + build.name).c_str(),
        [=](benchmark::State& state) { reduce<T>(state, reduction, build.simd); });
}

[[maybe_unused]] const bool registered = [] {
  compare_both(Op::exp, [](auto x, auto) { return std::exp(x); });
  compare_both(Op::log, [](auto x, auto) { return std::log(x); });
  compare_both(Op::sin, [](auto x, auto) { return std::sin(x); });
  compare_both(Op::cos, [](auto x, auto) { return std::cos(x); });
  compare_both(Op::tanh, [](auto x, auto) { return std::tanh(x); });
  compare_both(Op::sqrt, [](auto x, auto) { return std::sqrt(x); });
  compare_both(Op::pow, [](auto x, auto y) { return std::pow(x, y); });
  reductions<float>("sum", Reduction::sum);
  reductions<double>("sum", Reduction::sum);
  reductions<float>("max", Reduction::max);
  reductions<double>("max", Reduction::max);
  reductions<float>("moments", Reduction::moments);
  reductions<double>("moments", Reduction::moments);
  reductions<double>("argmax", Reduction::argmax);
  return true;
}();

}  // namespace
}  // namespace lowtide
