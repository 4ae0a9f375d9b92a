#include "lowtide/loader/tokens/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/loader/tokens/fit_table.h"

namespace lowtide {
namespace {

// A million documents of log-normal lengths (median 100 to 3000, capacities 2048 to 131072): at worst 0.70 % padding in groups of 2048,
// 0.19 % of 8192, 0.05 % of 32768, 0.02 % of 131072; each step costs 10 to 30 % more time, and takes neighbours further apart.
constexpr std::uint32_t group_size = 32768;
constexpr std::uint64_t least_piece = 2;  // tokens: one to go in, one to come out

struct Cut {
  std::uint64_t full_count;  // windows that the document fills alone
  std::uint32_t rest;        // tokens
};

Cut cut(const Documents& documents, std::uint64_t document, std::uint32_t capacity) {
  if (!documents.taken(document)) return {0, 0};
  const std::uint64_t length = documents.end(document) - documents.start(document);
  if (length < capacity) return {0, static_cast<std::uint32_t>(length)};
  return {length / capacity, static_cast<std::uint32_t>(length % capacity)};
}

template <class Visit>
void for_each_group(const Documents& documents, Visit visit) {
  for (std::uint64_t first = 0; first < documents.count(); first += group_size) {
    visit(first, std::min<std::uint64_t>(documents.count(), first + group_size));
    interrupt_point();
  }
}

// What a plan has room for, counted before anything is allocated.
struct Needs {
  std::uint64_t piece_count = 0;
  std::uint64_t window_count = 0;  // at most
  std::uint64_t cut_count = 0;
  std::uint64_t token_count = 0;
  std::uint64_t dropped_count = 0;
};

Needs needs_of(const Documents& documents, std::uint32_t capacity) {
  Needs needs;
  for_each_group(documents, [&](std::uint64_t first, std::uint64_t last) {
    std::uint64_t rest_count = 0, rest_tokens = 0;
    for (std::uint64_t document = first; document < last; ++document) {
      const auto [full_count, rest] = cut(documents, document, capacity);
      needs.piece_count += full_count;
      needs.window_count += full_count;
      needs.token_count += full_count * capacity;
      needs.cut_count += full_count > 1 || (full_count == 1 && rest > 0);
      if (rest < least_piece) {
        needs.dropped_count += rest;
        continue;
      }
      ++rest_count;
      rest_tokens += rest;
    }
    needs.piece_count += rest_count;
    needs.token_count += rest_tokens;
    // What a window was opened for did not fit any older one, so any two together hold more than one window does.
    const std::uint64_t pair_tokens = capacity - FitTable::slack(capacity);
    needs.window_count += std::min(rest_count, 2 * rest_tokens / pair_tokens + 1);
  });
  return needs;
}

// The plan as far as it is written.
struct Plan {
  PackedDocument* pieces;
  std::uint64_t* first;
  std::uint64_t piece_count = 0;
  std::uint64_t window_count = 0;

  void begin_window() { first[window_count++] = piece_count; }
  void add(const PackedDocument& piece) { pieces[piece_count++] = piece; }
};

// Packs one group after the other, in the same working memory.
class GroupPacker {
 public:
  GroupPacker(const Documents& documents, std::uint32_t capacity, std::uint32_t most_documents)
      : documents_(documents), capacity_(capacity), fits_(capacity, most_documents) {
    rests_.reserve(most_documents);
    longest_first_.reserve(most_documents);
    window_of_.reserve(most_documents);
    room_.reserve(most_documents);
    rank_.reserve(most_documents);
    end_.reserve(most_documents);
    by_window_.reserve(most_documents);
  }
  static std::uint64_t bytes(std::uint32_t capacity, std::uint32_t most_documents) {
    return FitTable::bytes(capacity, most_documents) +
           most_documents * (sizeof(PackedDocument) + sizeof(std::uint64_t) + 5 * sizeof(std::uint32_t));
  }

  void pack(std::uint64_t first, std::uint64_t last, Plan& plan) {
    collect_rests(first, last);
    choose_windows();
    order_windows();
    write(first, last, plan);
  }

 private:
  void collect_rests(std::uint64_t first, std::uint64_t last) {
    rests_.clear();
    for (std::uint64_t document = first; document < last; ++document) {
      const auto [full_count, rest] = cut(documents_, document, capacity_);
      if (rest >= least_piece) rests_.push_back({documents_.start(document) + full_count * capacity_, rest});
    }
  }

  void choose_windows() {
    longest_first_.clear();
    for (std::size_t i = 0; i < rests_.size(); ++i) longest_first_.push_back(std::uint64_t{rests_[i].count} << 32 | i);
    std::sort(longest_first_.begin(), longest_first_.end(), std::greater<>());
    window_of_.resize(rests_.size());
    room_.clear();
    fits_.clear();
    for (const std::uint64_t key : longest_first_) {
      const auto i = static_cast<std::uint32_t>(key);
      const std::uint32_t tokens = rests_[i].count;
      std::uint32_t window = fits_.take_tightest(tokens);
      if (window == FitTable::none) {
        window = static_cast<std::uint32_t>(room_.size());
        room_.push_back(capacity_);
      }
      window_of_[i] = window;
      room_[window] -= tokens;
      if (room_[window] >= least_piece) fits_.add(window, room_[window]);
    }
  }

  // Windows take the order in which the stream first meets them, and their pieces that of the stream: a counting sort.
  void order_windows() {
    rank_.assign(room_.size(), FitTable::none);
    end_.clear();
    for (std::uint32_t& window : window_of_) {
      std::uint32_t& rank = rank_[window];
      if (rank == FitTable::none) {
        rank = static_cast<std::uint32_t>(end_.size());
        end_.push_back(0);
      }
      ++end_[rank];
      window = rank;
    }
    std::uint32_t begin = 0;
    for (std::uint32_t& count : end_) begin += std::exchange(count, begin);
    by_window_.resize(rests_.size());
    for (std::uint32_t i = 0; i < rests_.size(); ++i) by_window_[end_[window_of_[i]]++] = i;
  }

  void write(std::uint64_t first, std::uint64_t last, Plan& plan) const {
    std::uint32_t window = 0, at = 0;
    const auto write_packed_before = [&](std::uint64_t begin) {
      for (; window < end_.size() && rests_[by_window_[at]].begin < begin; ++window) {
        plan.begin_window();
        for (; at < end_[window]; ++at) plan.add(rests_[by_window_[at]]);
      }
    };
    for (std::uint64_t document = first; document < last; ++document) {
      const std::uint64_t full_count = cut(documents_, document, capacity_).full_count;
      if (full_count == 0) continue;
      const std::uint64_t begin = documents_.start(document);
      write_packed_before(begin);
      for (std::uint64_t i = 0; i < full_count; ++i) {
        plan.begin_window();
        plan.add({begin + i * capacity_, capacity_});
      }
    }
    write_packed_before(UINT64_MAX);
  }

  const Documents& documents_;
  std::uint32_t capacity_;
  FitTable fits_;
  std::vector<PackedDocument> rests_;         // of the group, in the order of the stream
  std::vector<std::uint64_t> longest_first_;  // length and rest
  std::vector<std::uint32_t> window_of_;      // by rest
  std::vector<std::uint32_t> room_;           // by window, in the order of opening
  std::vector<std::uint32_t> rank_;           // by window: its place in the order of the stream
  std::vector<std::uint32_t> end_;            // by rank: of its rests in by_window_
  std::vector<std::uint32_t> by_window_;      // rests
};

}  // namespace

Packing::Packing(const Documents& documents, std::uint32_t capacity) : capacity_(capacity) {
  if (capacity < least_piece)
    throw std::invalid_argument(fmt::format("windows of {} tokens: 2 at least, an input and its target", capacity));
  const Needs needs = needs_of(documents, capacity);
  cut_count_ = needs.cut_count;
  dropped_count_ = needs.dropped_count;
  token_count_ = needs.token_count;

  const auto most_documents = static_cast<std::uint32_t>(std::min<std::uint64_t>(documents.count(), group_size));
  const std::uint64_t pieces_bytes = needs.piece_count * sizeof(PackedDocument);
  const std::uint64_t plan_bytes =
      round_up(pieces_bytes + (needs.window_count + 1) * sizeof(std::uint64_t), page_bytes);
  const std::uint64_t working_bytes = GroupPacker::bytes(capacity, most_documents);
  Lease lease =
      Budget::process().take(plan_bytes + working_bytes, Purpose::index,
                             fmt::format("packing {} documents into windows of {}", documents.count(), capacity));
  const Lease working = lease.split(working_bytes, Purpose::staging);
  auto owner = std::make_shared<const Block>(Block::allocate(std::move(lease)));
  Plan plan{.pieces = reinterpret_cast<PackedDocument*>(owner->data()),
            .first = reinterpret_cast<std::uint64_t*>(owner->data() + pieces_bytes)};
  GroupPacker packer(documents, capacity, most_documents);
  for_each_group(documents, [&](std::uint64_t first, std::uint64_t last) { packer.pack(first, last, plan); });
  plan.first[plan.window_count] = plan.piece_count;

  owner_ = std::move(owner);
  pieces_ = plan.pieces;
  first_ = plan.first;
  window_count_ = plan.window_count;
}

double Packing::waste() const {
  if (window_count_ == 0) return 0;
  return 1 - static_cast<double>(token_count_) / (static_cast<double>(window_count_) * capacity_);
}

}  // namespace lowtide
