#include "container/attachment.h"

#include "container/limits.h"
#include "wasm/protocol/attach.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/sse.h"

namespace roombox {
namespace {

using attach::Channel;
using attach::CloseCode;
using Kind = WebSocketMessage::Kind;

WebSocketMessage binary(std::string bytes) {
  return {Kind::Binary, std::move(bytes)};
}

WebSocketClose close_with(CloseCode code, std::string_view reason = {}) {
  return {static_cast<std::uint16_t>(code), std::string(reason)};
}

}  // namespace

Attachment::Attachment(asio::io_context& io, std::shared_ptr<Execution> execution, Client client,
                       std::uint64_t at, Framing framing)
    : execution_(std::move(execution)),
      client_(std::move(client)),
      framing_(framing),
      reader_(execution_->log(), at, LogReader::Pace::Reader, limits::kStreamBehind, [this] { on_output(); }),
      patience_(io),
      replay_end_(execution_->log().end()),
      attached_(execution_->attach()) {}

void Attachment::on_output() {
  const auto self = shared_from_this();  // its socket may end it
  if (reader_.holds() && !waited_for_) wait_for_it();
  if (const auto socket = socket_.lock()) socket->wake();
}

void Attachment::wait_for_it() {
  waited_for_ = true;
  const bool alone = execution_->attached() == 1;
  patience_.expires_after(alone ? limits::kOnlyAttachedPatience : limits::kAttachedPatience);
  patience_.async_wait([weak = weak_from_this(), at = reader_.at()](boost::system::error_code cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self) return;
    self->waited_for_ = false;
    if (!self->reader_.holds()) return;
    self->reader_.at() == at ? self->reader_.set_pace(LogReader::Pace::Writer) : self->wait_for_it();
  });
}

WebSocketHandler::Say Attachment::next() {
  if (!std::exchange(started_, true) && framing_ == Framing::Channels && client_.dialect == Dialect::Rooms) {
    const auto sequence = reader_.at() + sse::kStartId;
    return WebSocketMessage{Kind::Text, attach::start_message(execution_->id(), client_.sandbox, sequence)};
  }
  if (close_) return *close_;
  if (!refusal_.empty()) return WebSocketMessage{Kind::Text, std::exchange(refusal_, {})};
  return output();
}

/// What is kept of the past up to its end, then what comes.
WebSocketHandler::Say Attachment::output() {
  if (reader_.lost()) return close_with(CloseCode::Behind, messages::kAttachedBehind);
  if (framing_ == Framing::Channels && !replay_told_ && reader_.at() >= replay_end_) {
    replay_told_ = true;
    return binary(attach::replay_end_message());
  }
  const std::uint64_t replay = replay_told_ ? limits::kReadChunk : replay_end_ - reader_.at();
  const auto most =
      framing_ == Framing::Raw ? limits::kReadChunk : std::min<std::uint64_t>(replay, limits::kReadChunk);
  const auto chunk = reader_.next(most);
  if (!chunk) {
    reader_.set_pace(LogReader::Pace::Reader);  // it has caught up
    return execution_->has_ended() ? end() : Say();
  }
  if (framing_ == Framing::Raw) return binary(std::string(chunk->bytes));
  return binary(attach::output_message(chunk->stream, chunk->bytes));
}

WebSocketHandler::Say Attachment::end() {
  if (const auto& error = execution_->error()) return close_with(CloseCode::Failed, error->message);
  const auto code = execution_->view().exit_code;
  if (!code) return close_with(CloseCode::Failed);
  if (framing_ == Framing::Channels && !std::exchange(exit_told_, true))
    return binary(attach::exit_message(*code));
  return close_with(CloseCode::Normal);
}

void Attachment::on_message(WebSocketMessage message, std::function<void()> done) {
  if (framing_ == Framing::Raw) return write(std::move(message.bytes), std::move(done));
  if (message.kind == Kind::Text) {
    control(message.bytes);
    return done();
  }
  if (message.bytes.empty() || static_cast<Channel>(message.bytes[0]) != Channel::Stdin) {
    close_ = close_with(CloseCode::Unsupported, messages::kAttachedChannel);
    on_output();
    return done();
  }
  write(message.bytes.substr(1), std::move(done));
}

/// Its next message, which may be a signal, is read while a little input waits for the command to read it;
/// with more, once the command has taken this one.
void Attachment::write(std::string bytes, std::function<void()> done) {
  StdinWriter* const input = execution_->input();
  if (!input || input->is_closed()) {
    refuse({ErrorCode::Conflict, std::string(messages::kStdinClosed), {}});
    return done();
  }
  const bool waits = input->queued() + bytes.size() > limits::kAttachedInput;
  if (!waits) {
    input->write(std::move(bytes), nullptr);
    return done();
  }
  input->write(std::move(bytes),
               [weak = weak_from_this(), done = std::move(done)](StdinWriter::Outcome outcome) {
                 const auto self = weak.lock();
                 if (self && outcome == StdinWriter::Outcome::Full) {
                   self->close_ = close_with(CloseCode::Behind, messages::kStdinFull);
                   self->on_output();
                 }
                 done();
               });
}

void Attachment::control(std::string_view text) {
  const auto control = attach::parse_control(text);
  if (!control) return refuse(invalid_request(control.error()));
  switch (control->type) {
    case attach::Control::Type::StdinEof:
      return execution_->end_input();
    case attach::Control::Type::Resize:
      if (!execution_->resize(control->size))
        refuse({ErrorCode::Conflict, std::string(messages::kNoTerminal), {}});
      return;
    case attach::Control::Type::Signal:
      return execution_->signal(control->signal);
  }
}

/// Told in the rooms dialect alone: the other's clients know no text.
void Attachment::refuse(const Error& error) {
  if (framing_ == Framing::Raw || client_.dialect != Dialect::Rooms) return;
  refusal_ = render(error, client_.dialect);
  on_output();
}

}  // namespace roombox
