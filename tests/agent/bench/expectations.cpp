#include "tests/agent/bench/expectations.h"

#include <algorithm>

namespace roombox::bench {

void Expectations::add(const std::string& id, Expected expected) {
  const std::lock_guard lock(mutex_);
  awaited_.emplace(id, std::move(expected));
}

void Expectations::note_leaving(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = awaited_.find(id); found != awaited_.end()) found->second.left_at = Clock::now();
}

void Expectations::settle(const Frame& frame) {
  Record record;
  if (!record.read(frame.head) || !record.read(frame.output)) fail("a record is damaged");
  const ExecutionView execution = record.view();
  const std::lock_guard lock(mutex_);
  const auto found = awaited_.find(std::string(frame.id));
  if (found == awaited_.end()) fail("a record that nobody awaits: " + std::string(frame.id));
  const Expected& expected = found->second;
  const std::string what = "record of " + std::string(execution.command) + ": ";
  if (frame.status != expected.status || name(execution.status) != expected.status)
    fail(what + std::string(frame.status) + ", not " + expected.status);
  if (execution.exit_code != expected.exit_code)
    fail(what + "exit code " + std::to_string(execution.exit_code.value_or(-1)));
  if (expected.out && execution.out != *expected.out) fail(what + "stdout " + std::string(execution.out));
  if (expected.left_at) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *expected.left_at);
    slowest_leaving_ = std::max(slowest_leaving_.load(), took);
  }
  awaited_.erase(found);
  if (awaited_.empty()) settled_.notify_all();
}

void Expectations::await_all(std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  if (settled_.wait_for(lock, patience, [this] { return awaited_.empty(); })) return;
  fail(std::to_string(awaited_.size()) + " records never came, among them " + awaited_.begin()->first + ", " +
       awaited_.begin()->second.status);
}

RecordsReader::RecordsReader(std::uint16_t port, Expectations& expectations,
                             std::function<void(std::string)> on_failure)
    : port_(port),
      expectations_(expectations),
      on_failure_(std::move(on_failure)),
      thread_([this] { run(); }) {}

RecordsReader::~RecordsReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (feed_) feed_->shut_down();
  }
  thread_.join();
}

void RecordsReader::run() {
  try {
    Connection stored(port_);
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      read_feed(stored);
    }
  } catch (const std::exception& failure) {
    const std::lock_guard lock(mutex_);
    if (!stopping_) on_failure_(failure.what());
  }
}

void RecordsReader::replace_feed(Connection* feed) {
  const std::lock_guard lock(mutex_);
  feed_ = feed;
  if (feed_ && stopping_) feed_->shut_down();
}

/// Reads one feed to its end, which comes when the agent has nothing to tell for a while.
void RecordsReader::read_feed(Connection& stored) {
  Connection feed(port_);
  replace_feed(&feed);
  struct Clear {
    RecordsReader* reader;
    ~Clear() { reader->replace_feed(nullptr); }
  } clear{this};
  feed.send(get("/records"));
  feed.receive_head();
  std::string buffer;
  for (auto bytes = feed.receive_body(); !bytes.empty(); bytes = feed.receive_body()) {
    buffer += bytes;
    std::string ids;
    std::string_view rest = buffer;
    for (Frame frame; take_frame(rest, frame) == FrameState::Whole;) {
      expectations_.settle(frame);
      ids.append(frame.id).append("\n");
    }
    buffer.erase(0, buffer.size() - rest.size());
    if (ids.empty()) continue;
    const auto response = stored.exchange(post("/records/stored", ids));
    if (response.status / 100 != 2) fail("records are not taken as stored: " + response.head);
  }
}

}  // namespace roombox::bench
