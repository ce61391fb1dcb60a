#include "container/records.h"

#include "container/limits.h"
#include "wasm/protocol/record.h"

namespace roombox {
namespace {

std::size_t output_size(const Execution& execution) {
  return execution.log().stored(Stream::Stdout).size() + execution.log().stored(Stream::Stderr).size();
}

}  // namespace

class RecordFeed : public BodySource {
 public:
  RecordFeed(const Records& records, std::weak_ptr<Exchange> exchange)
      : records_(records), exchange_(std::move(exchange)) {}

  Next fill(std::string& out) override {
    for (auto next = records_.executions_.lower_bound(next_);
         !over_ && next != records_.executions_.end() && out.size() < limits::kStreamFill; ++next) {
      append_frame(out, next->second->view());
      next_ = next->first + 1;
    }
    if (over_) return Next::End;
    return records_.executions_.lower_bound(next_) == records_.executions_.end() ? Next::Later : Next::Now;
  }

  void wake() {
    if (const auto exchange = exchange_.lock()) exchange->wake();
  }

  void end() {
    over_ = true;
    wake();
  }

 private:
  const Records& records_;
  const std::weak_ptr<Exchange> exchange_;
  Records::Number next_ = 0;
  bool over_ = false;
};

void Records::add(std::shared_ptr<Execution> execution) {
  bytes_ += output_size(*execution);
  numbers_.emplace(execution->id(), count_);
  executions_.emplace(count_++, std::move(execution));
  settle_idleness();
  if (feed_) feed_->wake();
}

std::shared_ptr<Execution> Records::find(const std::string& id) const {
  const auto number = numbers_.find(id);
  return number == numbers_.end() ? nullptr : executions_.at(number->second);
}

void Records::forget(std::string_view ids) {
  while (!ids.empty()) {
    const auto end = std::min(ids.find('\n'), ids.size());
    const auto number = numbers_.find(std::string(ids.substr(0, end)));
    ids.remove_prefix(std::min(end + 1, ids.size()));
    if (number == numbers_.end()) continue;
    bytes_ -= output_size(*executions_.at(number->second));
    executions_.erase(number->second);
    numbers_.erase(number);
  }
  settle_idleness();
}

bool Records::is_full() const {
  return bytes_ > limits::kUnstoredOutput;
}

void Records::set_running(std::size_t count) {
  running_ = count;
  settle_idleness();
}

std::shared_ptr<BodySource> Records::open_feed(std::weak_ptr<Exchange> exchange) {
  if (feed_) feed_->end();
  feed_ = std::make_shared<RecordFeed>(*this, std::move(exchange));
  settle_idleness();
  return feed_;
}

void Records::settle_idleness() {
  if (running_ > 0 || !executions_.empty() || !feed_) {
    idle_.cancel();
    return;
  }
  idle_.expires_after(limits::kFeedIdle);
  idle_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled || !feed_) return;
    std::exchange(feed_, nullptr)->end();
  });
}

}  // namespace roombox
