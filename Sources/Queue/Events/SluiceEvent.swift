internal import Host
package import Membership
internal import Wire
internal import ZeroMQ

/// An event of the coordinator for monitors: a topic and a JSON object. See PROTOCOL.md, “Events for
/// monitors”.
///
/// An event is a hint, and may be lost. The store has the truth.
public struct SluiceEvent: Sendable, Equatable {
    /// The topic: `status/<uuid>`, `progress/<uuid>`, `bandwidth/<destination>`, `link/<destination>`,
    /// `link/*` for an uplink, `worker/<seat>`, `counts`, `gap/<shard>`, `collection/<name>`,
    /// `endpoint/<name>`, `response/<uuid>`, `schedule/<name>`, `flow/<uuid>` or `metrics/<process>`.
    public var topic: String
    /// An object whose members depend on the topic. PROTOCOL.md lists them with their units. In a snapshot,
    /// `snapshot` is true.
    public var body: JSONValue

    /// Makes an event, for example for a test. Nothing is checked.
    public init(topic: String, body: JSONValue) {
        self.topic = topic
        self.body = body
    }

    /// Reads a frame; nil for bytes that are not an event.
    package init?(frame: [UInt8]) {
        guard let (topic, body) = Event.parse(frame) else { return nil }
        self.init(topic: topic, body: body)
    }

    /// The part of the topic before the slash, or all of it: `status`, `progress`, `bandwidth`, `link`,
    /// `worker`, `counts`, `gap`, `collection`, `endpoint`, `response`, `schedule`, `flow` or `metrics`.
    public var kind: Substring { topic.prefix { $0 != "/" } }

    /// The part of the topic after the first slash; empty where there is none.
    public var subject: Substring { topic.drop { $0 != "/" }.dropFirst() }

    /// The command of a `status`, `progress`, `response` or `flow` event; nil for other events.
    public var id: CommandID? { CommandID(subject) }

    /// The status in a `status` event; nil for other events, and for a status that this version does not
    /// know.
    public var status: CommandStatus? {
        guard kind == "status", let name = body["status"]?.string else { return nil }
        return CommandStatus(name: name)
    }

    /// Whether the event is part of a snapshot of the present state. Whenever a monitor subscribes, every
    /// monitor gets a snapshot.
    public var isSnapshot: Bool { body["snapshot"]?.bool == true }
}

/// Frames of `events.sock`, unparsed, on a thread of the feed's own: a hundred thousand a second are common.
/// Goes on when the coordinator restarts; see ``EventSocket`` for a reader that is slow.
package actor EventFeed {
    private let loop: PollLoop
    private let endpoints: any OpenEndpoints
    private var socket: EventSocket?

    private static let maxFramesEachRound = 4096

    nonisolated package var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Subscribes, and calls `body` on the feed's thread for each frame.
    /// - Parameter prefixes: of topics; the empty prefix is every topic.
    /// - Throws: ``SluiceError``: `noStore` where the sockets cannot be reached, `tryAgain` without descriptors.
    package init(
        _ endpoints: any Endpoints, prefixes: [String], body: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws(SluiceError) {
        do throws(SystemError) { self.endpoints = try endpoints.open() } catch {
            throw SluiceError(.noStore, error.description)
        }
        do throws(ZeroMQError) {
            loop = try PollLoop(name: "sluice-feed")
        } catch {
            throw SluiceError(error)
        }
        loop.perform { self.assumeIsolated { $0.connect(prefixes, body) } }
    }

    deinit {
        loop.stop()
    }

    /// Ends the feed: `body` is called no more. A feed that is still referenced otherwise runs on.
    nonisolated package func close() { loop.stop() }

    private func connect(_ prefixes: [String], _ body: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        let made = try? EventSocket(endpoints, loop: loop) { [weak self] in
            self?.assumeIsolated { $0.socket?.receive(maxCount: Self.maxFramesEachRound, body) }
        }
        // Fails only without descriptors; then the feed stays empty.
        guard let made else { return }
        for prefix in prefixes { _ = try? made.subscribe(Array(prefix.utf8)) }
        socket = consume made
    }
}

/// A socket that reads the frames of `events.sock`: a SUB socket on the loop that it was made on.
///
/// It connects when a coordinator starts, and again after each restart. When its reader is slow, up to
/// ``maxWaiting`` frames wait in this process and as many in the coordinator, which then drops the newest.
/// The reader sees a gap in `seq`, which the store can fill. A coordinator that ends takes its waiting frames
/// with it; the next one sends a snapshot.
struct EventSocket: ~Copyable {
    /// Frames that wait in this process: about 40 MB of status events.
    private static let maxWaiting: Int32 = 100_000

    private let socket: Socket

    /// Connects, and calls `onReadable` on the loop whenever frames may have arrived. Call it on the loop.
    init(
        _ endpoints: any OpenEndpoints, loop: PollLoop, onReadable: @escaping () -> Void
    ) throws(ZeroMQError) {
        var options = Socket.Options()
        options.reconnectInterval = .milliseconds(50)
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.receiveHighWaterMark = Self.maxWaiting
        let socket = try endpoints.connect(.subscribe, to: .events, options: options, on: loop)
        loop.whenReadable(socket, onReadable)
        self.socket = socket
    }

    /// - Parameter prefix: of topics; the empty prefix is every topic.
    func subscribe(_ prefix: [UInt8]) throws(ZeroMQError) { try socket.subscribe(prefix) }

    /// Takes back one ``subscribe(_:)``: libzmq counts the subscriptions of a prefix.
    func unsubscribe(_ prefix: [UInt8]) { _ = try? socket.unsubscribe(prefix) }

    /// The next frame; nil where none has arrived.
    func next() -> [UInt8]? { (try? socket.receive { Array($0) }) ?? nil }

    /// Calls `body` for the frames that have arrived, and leaves the others for the loop's next round.
    /// - Parameter maxCount: frames of one round, so that a flood does not starve the loop's other work.
    func receive(maxCount: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        for _ in 0..<maxCount {
            guard (try? socket.receive(body)) != nil else { return }
        }
    }
}
