internal import Host
internal import Logging
internal import Membership
internal import Metrics
internal import Store
internal import Wire
internal import ZeroMQ

/// Makes the sockets of the coordinator, with their options, and binds them.
struct SocketBinder {
    private let loop: PollLoop
    private let endpoints: any OpenEndpoints

    /// Frames that one of the coordinator's sockets queues for a peer before it drops new ones.
    private static let sendHighWaterMark: Int32 = 100_000
    /// The same for each monitor. A monitor that does not read sees the gap in `seq`; twenty of them cost 60 MB.
    private static let monitorHighWaterMark: Int32 = 10_000
    private static let maxMessageSize: Int64 = 16 << 20

    init(loop: PollLoop, endpoints: any Endpoints) throws {
        self.loop = loop
        do throws(SystemError) { self.endpoints = try endpoints.open() } catch { throw StoreError(error) }
    }

    /// Binds one of the coordinator's sockets.
    func bind(_ kind: Socket.Kind, _ name: CoordinatorSocket) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = name == .events ? Self.monitorHighWaterMark : Self.sendHighWaterMark
        options.maximumMessageSize = Self.maxMessageSize
        options.verboseSubscriptions = true
        return try endpoints.bind(kind, as: name, options: options, on: loop)
    }

    /// Binds the socket that sends offers to the worker of a seat. It drops no frame.
    func bindWorker(seat: Int) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = 0
        options.immediate = false
        options.maximumMessageSize = Self.maxMessageSize
        return try endpoints.bind(.push, as: .offers(seat: seat), options: options, on: loop)
    }

    /// Binds the sockets anew whose files were removed or replaced.
    /// - Returns: the names of these files.
    func bindMissing() throws(ZeroMQError) -> [String] { try endpoints.bindMissing() }
}

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
