internal import Host
internal import Logging
internal import Metrics
internal import Wire
internal import ZeroMQ

/// Reads messages from sockets. Confined to the loop.
final class FrameReader {
    /// Errors that were logged: one frame of a kind is enough.
    private var logged: Set<String> = []
    private let dropped = Counter(label: "sluice.frames.dropped")
    private let logger: Logger

    /// Frames read from one socket before the others have their turn.
    private static let maxFrames = 256
    /// For no longer than this: a frame tells of up to 128 commands. 20,000 of different destinations that came at once
    /// held the loop of a debug build for over 5 s, and the supervisor killed it.
    private static let maxTime: Duration = .milliseconds(100)

    init(logger: Logger) { self.logger = logger }

    /// - Parameter unreadable: called with the sender of a frame whose version or body is not known here.
    func read(
        _ socket: borrowing Socket, unreadable: (FrameHead, WireError) -> Void = { _, _ in },
        _ body: (FrameHead, Message) -> Void
    ) {
        do {
            let end = MonotonicTime.now + Self.maxTime
            for number in 0..<Self.maxFrames {
                if number > 0, MonotonicTime.now >= end { return }
                var sender: FrameHead?
                guard
                    let frame = try socket.receive({ bytes in
                        Result { () throws(WireError) in
                            do throws(WireError) {
                                return try Message.decode(bytes)
                            } catch {
                                sender = FrameHead.ofUnreadable(bytes)
                                throw error
                            }
                        }
                    })
                else { return }
                switch frame {
                case .success(let (head, message)): body(head, message)
                case .failure(let error):
                    dropped.increment()
                    if let sender { unreadable(sender, error) }
                    if logged.insert(error.description).inserted { logger.warning("A frame was dropped: \(error)") }
                }
            }
        } catch {
            logger.error("A socket cannot be read: \(error)")
        }
    }
}
