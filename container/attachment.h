#pragma once

#include <memory>
#include <string>

#include "container/execution.h"
#include "container/web_socket.h"
#include "wasm/protocol/attach.h"
#include "wasm/protocol/dialect.h"

namespace roombox {

/// One client attached to an execution: wasm/protocol/attach.h. Its command waits for it while it reads, but
/// not for one that does not; who falls behind what is kept is closed.
class Attachment : public WebSocketHandler, public std::enable_shared_from_this<Attachment> {
 public:
  struct Client {
    std::string sandbox;  ///< Name of the sandbox.
    Dialect dialect;
  };
  using Framing = attach::Framing;

  /// @param at the place in the log to begin at
  Attachment(asio::io_context& io, std::shared_ptr<Execution> execution, Client client, std::uint64_t at,
             Framing framing);

  /// Whom to wake when there is something to say. Once, after construction.
  void speak_on(std::weak_ptr<WebSocket> socket) { socket_ = std::move(socket); }

  Say next() override;
  void on_message(WebSocketMessage message, std::function<void()> done) override;

 private:
  void on_output();
  void wait_for_it();
  Say output();
  Say end();
  void write(std::string bytes, std::function<void()> done);
  void control(std::string_view text);
  void refuse(const Error& error);

  const std::shared_ptr<Execution> execution_;
  const Client client_;
  const Framing framing_;
  std::weak_ptr<WebSocket> socket_;
  LogReader reader_;
  Timer patience_;
  bool waited_for_ = false;  ///< The timer runs.
  const std::uint64_t replay_end_;
  std::shared_ptr<void> attached_;
  bool started_ = false;
  bool replay_told_ = false;
  bool exit_told_ = false;
  std::string refusal_;                  ///< What is to be said to a message that breaks a rule.
  std::optional<WebSocketClose> close_;  ///< What ends it from our side, before the execution does.
};

}  // namespace roombox
