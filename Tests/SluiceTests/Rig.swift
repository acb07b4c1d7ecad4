import Glibc
import Host
import Membership
import Sluice
import Store
import Synchronization
import TestSupport
import Wire
import ZeroMQ

/// A client on a store of its own. A test takes the part of the worker by writing to the store.
struct Rig {
    let place: TemporaryDirectory
    let opened: OpenedStore
    let client: SluiceClient

    static func with(_ body: (Rig) async throws -> Void) async throws {
        let rig = try Rig()
        do {
            try await body(rig)
        } catch {
            await rig.finish()
            throw error
        }
        await rig.finish()
    }

    private init() throws {
        place = try TemporaryDirectory("sluice")
        opened = try Stores.open(.directory(DataDirectory(path: "\(place.path)/data")), create: true)
        client = try SluiceClient(data: opened.directory.path, operations: [Echo()])
    }

    var store: any CommandStore { opened.store }
    var directory: DataDirectory { opened.directory }

    private func finish() async {
        await client.close()
        place.remove()
    }

    /// Claims and ends a command as a worker does.
    func execute(_ id: CommandID, ending: ExecutionResult = .success(result: Array("{\"echo\":1}".utf8))) throws {
        let session = Session(seat: 0, epoch: 7, pid: getpid(), startTime: 1, bootID: "test")
        if try store.sessions().isEmpty { try store.open(session) }
        let shard = id.shard(of: store.shardCount)
        let claims = try store.apply([.claim(id, sent: true)], shard: shard, seat: 0, epoch: 7)
        guard case .claimed(let command, _, _, _)? = claims.first else { throw Missed("the claim was refused") }
        _ = try store.apply([.end(id, claim: command.claim, ending)], shard: shard, seat: 0, epoch: 7)
    }

    /// Claims a command and does not end it.
    func hold(_ id: CommandID) throws {
        try store.open(Session(seat: 0, epoch: 7, pid: getpid(), startTime: 1, bootID: "test"))
        _ = try store.apply(
            [.claim(id, sent: true)], shard: id.shard(of: store.shardCount), seat: 0, epoch: 7)
    }
}

/// An operation with the payload `{"echo": ANYTHING}`.
struct Echo: CommandOperation {
    let type = "noop"

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        guard let members = payload.members else { throw PayloadError(.data, "an echo must be an object") }
        for member in members where member.name != "echo" {
            throw PayloadError(.data, "unknown key “\(member.name)”")
        }
        return PayloadAttributes(
            destination: Destination(scheme: "http", host: "echo", port: 80), idempotent: true, total: 5)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? { nil }
}

/// Binds the sockets of a coordinator: receives hints and sends events.
///
/// `@unchecked Sendable`: the sockets are touched on the loop's thread only.
final class Stage: @unchecked Sendable {
    private let loop: PollLoop
    private var intake: Socket?
    private var events: Socket?
    private let heard = Mutex<[Hint]>([])
    private let told = Mutex<[ReadyCommand]>([])
    private let subscriptions = Mutex<[String]>([])

    var hints: [Hint] { heard.withLock { $0 } }
    var submitted: [ReadyCommand] { told.withLock { $0 } }
    var prefixes: [String] { subscriptions.withLock { $0 } }

    init(_ directory: DataDirectory) async throws {
        loop = try PollLoop(name: "stage")
        let endpoints = try directory.endpoints.open()
        try await loop.run { () throws(ZeroMQError) in
            let intake = try endpoints.bind(.pull, as: .intake, options: .init(), on: self.loop)
            var options = Socket.Options()
            options.verboseSubscriptions = true
            let events = try endpoints.bind(.extendedPublish, as: .events, options: options, on: self.loop)
            self.loop.whenReadable(intake) { [weak self] in self?.takeHints() }
            self.loop.whenReadable(events) { [weak self] in self?.takeSubscriptions() }
            self.intake = consume intake
            self.events = consume events
        }
    }

    private func takeHints() {
        while let frame = try? intake?.receive({ Array($0) }) {
            frame.withUnsafeBytes { bytes in
                switch try? Message.decode(bytes).1 {
                case .hint(let hint): heard.withLock { $0.append(hint) }
                case .submitted(let submitted): told.withLock { $0 += submitted.commands }
                default: break
                }
            }
        }
    }

    private func takeSubscriptions() {
        while let frame = try? events?.receive({ Array($0) }) {
            if frame.first == 1 {
                subscriptions.withLock { $0.append(String(decoding: frame.dropFirst(), as: UTF8.self)) }
            }
        }
    }

    func tell(_ event: String) async {
        await loop.run { _ = try? self.events?.send(Array(event.utf8)) }
    }

    func leave() async {
        await loop.run {
            self.intake = nil
            self.events = nil
        }
        loop.stop()
        await loop.stopped()
    }
}
