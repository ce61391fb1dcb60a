#include "container/stdin_writer.h"

#include <unistd.h>

#include "container/limits.h"
#include "container/sys/call.h"

namespace roombox {

StdinWriter::StdinWriter(asio::io_context& io, sys::Fd pipe) : io_(io), pipe_(io, pipe.release()) {}

bool StdinWriter::write(std::string bytes, Handler done) {
  const auto refuse = [&](Outcome outcome) {
    tell(std::move(done), outcome);
    return false;
  };
  if (is_closed()) return refuse(Outcome::Closed);
  if (!queue_.empty() && queued_ + bytes.size() > limits::kStdinQueue) return refuse(Outcome::Full);
  queued_ += bytes.size();
  queue_.push_back({std::move(bytes), std::move(done)});
  if (!waiting_) pump();
  return true;
}

void StdinWriter::close() {
  closing_ = true;
  if (queue_.empty()) abort();
}

void StdinWriter::abort() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  while (!queue_.empty()) finish(Outcome::Closed);
}

void StdinWriter::pump() {
  while (!queue_.empty()) {
    const Write& write = queue_.front();
    if (written_ == write.bytes.size()) {
      finish(Outcome::Written);
      continue;
    }
    const auto size = sys::call("write", [&] {
      return ::write(pipe_.native_handle(), write.bytes.data() + written_, write.bytes.size() - written_);
    });
    if (size) {
      written_ += static_cast<std::size_t>(*size);
    } else if (size.error().number == EAGAIN) {
      waiting_ = true;
      return pipe_.async_wait(asio::posix::descriptor_base::wait_write,
                              [self = shared_from_this()](boost::system::error_code ec) {
                                self->waiting_ = false;
                                if (!ec) self->pump();
                              });
    } else {
      return abort();  // EPIPE: SIGPIPE is blocked, as all signals are
    }
  }
  if (closing_) abort();
}

void StdinWriter::finish(Outcome outcome) {
  Write write = std::move(queue_.front());
  queue_.pop_front();
  queued_ -= write.bytes.size();
  written_ = 0;
  tell(std::move(write.done), outcome);
}

void StdinWriter::tell(Handler done, Outcome outcome) {
  if (done) asio::post(io_, [done = std::move(done), outcome] { done(outcome); });
}

}  // namespace roombox
