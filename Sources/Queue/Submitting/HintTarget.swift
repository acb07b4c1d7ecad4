internal import Commands
internal import Membership
internal import Wire
internal import ZeroMQ

/// The receiver of a client's hints.
enum HintTarget: Sendable {
    /// The coordinator, by its socket.
    case socket(any OpenEndpoints)
    /// The process of the client. It is called on a thread of the client.
    case process(@Sendable (Hint.Kind, [CommandID]) -> Void)
}
