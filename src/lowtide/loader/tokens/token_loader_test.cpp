#include "lowtide/token_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"
#include "lowtide/memory/block_cache.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {
namespace {

using testing::HasSubstr;

template <class T>
std::string write_tokens(const io::TestFolder& folder, const std::string& name, std::uint64_t first,
                         std::uint64_t count) {
  std::vector<T> tokens(count);
  std::iota(tokens.begin(), tokens.end(), static_cast<T>(first));
  const std::string path = folder / name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(count * sizeof(T)));
  io::TestFolder::make_cold(path);
  return path;
}

TokenLoaderOptions with(std::vector<std::string> paths, std::int64_t block, std::int64_t batch) {
  TokenLoaderOptions options;
  options.paths = std::move(paths);
  options.block = block;
  options.share.batch = batch;
  options.share.epochs = 1;
  options.token_dtype = DType::uint32;
  options.seed = 11;
  return options;
}

// The first token of every row; each row is checked to count up, and y to be one ahead.
std::vector<std::int64_t> firsts(const TokenBatch& batch) {
  std::vector<std::int64_t> found;
  const auto x = batch.x.as<std::int64_t>();
  const auto y = batch.y.as<std::int64_t>();
  const auto block = static_cast<std::size_t>(batch.x.shape()[1]);
  for (std::size_t row = 0; row * block < x.size(); ++row) {
    for (std::size_t i = 0; i < block; ++i) {
      EXPECT_EQ(x[row * block + i], x[row * block] + static_cast<std::int64_t>(i));
      EXPECT_EQ(y[row * block + i], x[row * block + i] + 1);
    }
    found.push_back(x[row * block]);
  }
  return found;
}

std::vector<std::int64_t> loop(TokenLoader& loader) {
  std::vector<std::int64_t> all;
  while (const auto batch = loader.next()) {
    const auto some = firsts(*batch);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<std::int64_t> every_window(std::int64_t count, std::int64_t stride) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i * stride);
  return all;
}

class TokenLoaderTest : public testing::TestWithParam<const char*> {
 protected:
  io::ForcedMode mode_{GetParam()};
  BudgetScope budget_{64_MiB};
  io::TestFolder folder_;
};

TEST_P(TokenLoaderTest, EveryWindowComesOnceAnEpochAndInAnotherOrderTheNext) {
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 100'000)}, 30, 7));
  EXPECT_EQ(loader.samples_per_epoch(), 100'000u / 31);
  auto first = loop(loader);
  auto second = loop(loader);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, every_window(100'000 / 31, 31));
  // The same windows some tokens further on; the last one ends with the stream.
  const std::int64_t phase = second.front();
  EXPECT_LT(phase, 31);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(second[i], std::min<std::int64_t>(first[i] + phase, 99'969));
}

TEST_P(TokenLoaderTest, ShardsAreOneStreamAndWindowsCrossThem) {
  std::vector<std::string> paths;
  for (int i = 0; i < 7; ++i)
    paths.push_back(write_tokens<std::uint32_t>(folder_, "s" + std::to_string(i), 1000u * i, 1000));
  TokenLoaderOptions options = with(paths, 300, 3);
  options.shuffle = false;
  options.share.drop_last = true;
  TokenLoader loader(options);
  EXPECT_EQ(loop(loader), every_window(7000 / 301 / 3 * 3, 301));
}

TEST_P(TokenLoaderTest, AnOverlapOfOneMakesEveryTokenATarget) {
  TokenLoaderOptions options = with({write_tokens<std::uint32_t>(folder_, "a", 0, 1001)}, 100, 3);
  options.overlap = 1;
  options.shuffle = false;
  TokenLoader loader(options);
  EXPECT_EQ(loop(loader), every_window(10, 100));
}

TEST_P(TokenLoaderTest, WindowsLongerThanASlotArePutTogether) {
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 400'000)}, 100'000, 2));
  auto seen = loop(loader);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, every_window(3, 100'001));
}

TEST_P(TokenLoaderTest, ResumeGivesTheNextBatchWhateverTheBatchAndTheWorldAre) {
  const std::string path = write_tokens<std::uint32_t>(folder_, "a", 0, 20'000);
  TokenLoader unbroken(with({path}, 9, 5));
  const auto all = loop(unbroken);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    TokenLoader before(with({path}, 9, 1 + static_cast<std::int64_t>(random() % 9)));
    std::vector<std::int64_t> seen;
    for (std::uint64_t steps = random() % 60; steps > 0; --steps) {
      const auto some = firsts(*before.next());
      seen.insert(seen.end(), some.begin(), some.end());
    }
    TokenLoaderOptions options = with({path}, 9, 1 + static_cast<std::int64_t>(random() % 9));
    options.seed = 999;  // the state's counts
    TokenLoader after(options);
    after.load(before.state());
    const auto rest = loop(after);
    seen.insert(seen.end(), rest.begin(), rest.end());
    EXPECT_EQ(seen, all);
  }
}

TEST_P(TokenLoaderTest, AStateAheadIsTheStateAfterSoManyBatches) {
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 5'000)}, 9, 5));
  loader.next();
  const TokenLoaderState ahead = loader.state(3);
  for (int i = 0; i < 3; ++i) loader.next();
  EXPECT_EQ(ahead.position, loader.state().position);
}

TEST_P(TokenLoaderTest, SamplesAreAnywhereAndTheirStateIsExact) {
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 50'000)}, 16, 50));
  std::vector<std::int64_t> seen;
  for (int i = 0; i < 40; ++i) {
    const auto some = firsts(loader.sample());
    seen.insert(seen.end(), some.begin(), some.end());
  }
  EXPECT_LT(*std::min_element(seen.begin(), seen.end()), 500);
  EXPECT_GT(*std::max_element(seen.begin(), seen.end()), 49'300);
  const TokenLoaderState state = loader.state();
  const auto next = firsts(loader.sample());
  TokenLoader resumed(with(loader.files(), 16, 50));
  resumed.load(state);
  EXPECT_EQ(firsts(resumed.sample()), next);
}

TEST_P(TokenLoaderTest, DocumentsAreMarked) {
  std::vector<std::uint16_t> tokens;
  for (std::uint16_t i = 0; i < 24; ++i) tokens.push_back(i % 5 == 4 ? 99 : i);
  const std::string path = folder_ / "d.bin";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(tokens.data()), 48);
  TokenLoaderOptions options = with({path}, 11, 2);
  options.token_dtype = DType::uint16;
  options.shuffle = false;
  options.documents = DocumentMode::eot;
  options.eot = 99;
  TokenLoader loader(options);
  const auto batch = loader.next();
  EXPECT_EQ(batch->positions.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2}));
  EXPECT_EQ(batch->cu_seqlens.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 5, 10, 11, 14, 19, 22}));
  const auto mask = batch->mask.to_vector<bool>();
  for (std::size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(mask[i], batch->x.as<std::int64_t>()[i] != 99) << i;
  EXPECT_EQ(batch->longest_segment, 5);
}

TEST_P(TokenLoaderTest, PackedWindowsHoldWholeDocumentsAndPadding) {
  std::vector<std::uint32_t> tokens;
  std::mt19937 random(5);
  for (std::uint32_t document = 0; document < 200; ++document) {
    for (std::uint32_t i = random() % 30; i > 0; --i) tokens.push_back(1000 + document);
    tokens.push_back(7);
  }
  const std::string path = folder_ / "p.bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(tokens.size() * 4));
  TokenLoaderOptions options = with({path}, 63, 4);
  options.documents = DocumentMode::eot;
  options.eot = 7;
  options.pack = true;
  options.pad = -1;
  TokenLoader loader(options);
  std::uint64_t targets = 0, padded = 0;
  while (const auto batch = loader.next()) {
    const auto x = batch->x.as<std::int64_t>();
    const auto y = batch->y.as<std::int64_t>();
    const auto mask = batch->mask.as<bool>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      padded += x[i] == -1 ? 1 : 0;
      EXPECT_TRUE(!mask[i] || (x[i] != 7 && y[i] != -1 && (y[i] == x[i] || y[i] == 7)));
      targets += mask[i] ? 1 : 0;
    }
  }
  EXPECT_EQ(targets, tokens.size() - 200);  // every token but the first of each document is a target once
  EXPECT_GT(padded, 0u);
  EXPECT_EQ(loader.packing()->document_count, 200u);
  EXPECT_LT(loader.packing()->waste, 0.1);
  EXPECT_THROW(loader.sample(), std::invalid_argument);
}

TEST_P(TokenLoaderTest, ATokenOutOfTheVocabularyIsNamedAndComesAgain) {
  TokenLoaderOptions options = with({write_tokens<std::uint32_t>(folder_, "a", 0, 1000)}, 9, 5);
  options.shuffle = false;
  options.vocabulary = 500;
  TokenLoader loader(options);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(loader.next());
  for (int i = 0; i < 2; ++i) {
    try {
      loader.next();
      FAIL() << "token 500 went through";
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr("token 500 at byte 2000"));
      EXPECT_THAT(error.what(), HasSubstr("vocabulary of 500"));
    }
  }
}

TEST_P(TokenLoaderTest, TokensThatDoNotFitTheDtypeAreAnError) {
  TokenLoaderOptions options = with({write_tokens<std::uint32_t>(folder_, "a", 65'000, 1000)}, 9, 5);
  options.dtype = DType::uint16;
  TokenLoader loader(options);
  EXPECT_THROW(while (loader.next()){}, FormatError);
}

TEST_P(TokenLoaderTest, AFileThatChangesUnderTheLoaderIsAnError) {
  const std::string path = write_tokens<std::uint32_t>(folder_, "a", 0, 400'000);
  TokenLoaderOptions options = with({path}, 999, 2);
  options.share.epochs.reset();
  TokenLoader loader(options);
  loader.next();
  std::filesystem::resize_file(path, 4000);
  EXPECT_THROW(for (int i = 0; i < 1000; ++i) loader.next(), DataChangedError);
}

TEST_P(TokenLoaderTest, BatchesThatAreKeptArePaidForUntilTheBudgetRefuses) {
  const BudgetScope small(8_MiB);
  TokenLoaderOptions options = with({write_tokens<std::uint32_t>(folder_, "a", 0, 400'000)}, 1023, 64);
  options.share.epochs.reset();
  TokenLoader loader(options);
  std::vector<TokenBatch> kept;
  EXPECT_THROW(for (int i = 0; i < 100; ++i) kept.push_back(*loader.next()), BudgetError);
  EXPECT_GE(kept.size(), 2u);
  EXPECT_LE(usage().held_bytes, 8_MiB);
  const auto expected = loader.state().position;
  kept.clear();
  loader.next();  // and goes on where it was
  EXPECT_EQ(loader.state().position, expected + 64);
}

TEST_P(TokenLoaderTest, ABatchThatDoesNotFitIsRefusedFirst) {
  const BudgetScope small(1_MiB);
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 400'000)}, 1023, 64));
  try {
    loader.next();
    FAIL() << "two batches of 1 MiB went into 1 MiB";
  } catch (const BudgetError& error) {
    EXPECT_THAT(error.what(), HasSubstr("64 x 1023 tokens"));
  }
}

TEST_P(TokenLoaderTest, AForkedChildGoesOnWhereItsParentStood) {
  TokenLoader loader(with({write_tokens<std::uint32_t>(folder_, "a", 0, 50'000)}, 9, 5));
  for (int i = 0; i < 10; ++i) loader.next();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const auto mine = loop(loader);
    _exit(mine.size() == 5'000 - 50 ? 0 : 1);
  }
  EXPECT_EQ(loop(loader).size(), 5'000u - 50);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_P(TokenLoaderTest, NothingIsHeldWhenTheLoaderIsGone) {
  const std::string path = write_tokens<std::uint32_t>(folder_, "a", 0, 50'000);
  const auto descriptors = io::open_descriptors();
  std::optional<TokenBatch> kept;
  {
    TokenLoader loader(with({path}, 9, 5));
    for (int i = 0; i < 100; ++i) kept = loader.next();
    loader.sample();
  }
  EXPECT_EQ(firsts(*kept).size(), 5u);
  kept.reset();
  SpareBlocks::process().evict(UINT64_MAX);
  BlockCache::process().evict(UINT64_MAX);
  EXPECT_TRUE(usage().by_purpose.empty() || (usage().by_purpose.size() == 1 && usage().by_purpose.contains("cache")));
  EXPECT_LE(io::open_descriptors(), descriptors + 2);  // the rings of both streams are kept for the next
}

TEST_P(TokenLoaderTest, EveryFailureIsAnErrorOrHarmlessAndTheStreamGoesOn) {
  const std::string path = write_tokens<std::uint32_t>(folder_, "a", 0, 3'000);
  TokenLoader reference(with({path}, 29, 4));
  const auto all = loop(reference);
  for (const auto stage : {fault::Stage::submit, fault::Stage::complete, fault::Stage::call, fault::Stage::allocate}) {
    for (std::int64_t nth = 1; nth < 60; ++nth) {
      std::vector<std::int64_t> seen;
      std::optional<TokenLoader> loader;
      const auto attempt = [&] {
        if (!loader) loader.emplace(with({path}, 29, 4));
        while (const auto batch = loader->next()) {
          const auto some = firsts(*batch);
          seen.insert(seen.end(), some.begin(), some.end());
        }
      };
      fault::set({.stage = stage, .nth = nth, .error = stage == fault::Stage::allocate ? ENOMEM : EIO});
      bool failed = false;
      try {
        attempt();
      } catch (const Error&) {
        failed = true;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const bool met = fault::seen(stage) >= nth;
      fault::clear();
      if (failed) attempt();
      EXPECT_EQ(seen, all) << "stage " << static_cast<int>(stage) << ", number " << nth;
      if (!met) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, TokenLoaderTest, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST(TokenLoader, WhatCannotBeIsRefusedWithTheNumbers) {
  const io::TestFolder folder;
  const std::string path = write_tokens<std::uint32_t>(folder, "a", 0, 100);
  EXPECT_THROW(TokenLoader(with({}, 8, 1)), std::invalid_argument);
  EXPECT_THROW(TokenLoader(with({path}, 0, 1)), std::invalid_argument);
  EXPECT_THROW(TokenLoader(with({path}, 8, 0)), std::invalid_argument);
  EXPECT_THROW(TokenLoader(with({path}, 100, 1)), std::invalid_argument);
  EXPECT_EQ(TokenLoader(with({path}, 99, 1)).samples_per_epoch(), 1u);
  TokenLoaderOptions options = with({path}, 8, 1);
  options.pack = true;
  EXPECT_THROW(TokenLoader{options}, std::invalid_argument);
  options = with({path}, 8, 1);
  options.dtype = DType::float32;
  EXPECT_THROW(TokenLoader{options}, std::invalid_argument);
}

TEST(TokenLoader, AStateOfOtherDataIsRefusedByName) {
  const io::TestFolder folder;
  TokenLoader one(with({write_tokens<std::uint32_t>(folder, "one", 0, 100)}, 9, 2));
  TokenLoader other(with({write_tokens<std::uint32_t>(folder, "other", 5, 100)}, 9, 2));
  try {
    other.load(one.state());
    FAIL() << "other data went through";
  } catch (const DataChangedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("other"));
  }
}

}  // namespace
}  // namespace lowtide
