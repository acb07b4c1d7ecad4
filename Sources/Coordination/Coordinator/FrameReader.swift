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

    init(logger: Logger) { self.logger = logger }

    func read(_ socket: borrowing Socket, _ body: (FrameHead, Message) -> Void) {
        do {
            for _ in 0..<Self.maxFrames {
                guard
                    let frame = try socket.receive({ bytes in
                        Result { () throws(WireError) in try Message.decode(bytes) }
                    })
                else { return }
                switch frame {
                case .success(let (head, message)): body(head, message)
                case .failure(let error):
                    dropped.increment()
                    if logged.insert(error.description).inserted { logger.warning("A frame was dropped: \(error)") }
                }
            }
        } catch {
            logger.error("A socket cannot be read: \(error)")
        }
    }
}
