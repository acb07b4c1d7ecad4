import Commands
import Console
import Glibc
import Host
import Membership
import NetworkControl
import Store
import TestSupport

@testable import Queue

/// A store without processes. A test takes the locks that a process would hold.
struct InspectionRig {
    let place: TemporaryDirectory
    let opened: OpenedStore
    /// The time of the store.
    let now = Timestamp(milliseconds: 1_772_368_496_000)

    static let origin = Destination(scheme: "https", host: "media.example.com", port: 443)
    private static let epoch: Int64 = 7

    static func with(_ body: (InspectionRig) throws -> Void) throws {
        let rig = try make()
        defer { rig.place.remove() }
        try body(rig)
    }

    /// The caller removes ``place``.
    static func make() throws -> InspectionRig { try InspectionRig() }

    private init() throws {
        place = try TemporaryDirectory("inspection")
        let directory = DataDirectory(path: "\(place.path)/data")
        let store = try SQLiteStore(directory: directory, shardCount: 4, clock: SettableClock(at: now))
        opened = OpenedStore(store, maintenance: store, in: directory)
    }

    var store: any CommandStore { opened.store }
    var directory: DataDirectory { opened.directory }
    var queue: QueueAccess { QueueAccess(opened) }

    func explainer(links: [LinkReport] = [], progress: CommandProgress? = nil) -> WaitExplainer {
        WaitExplainer(queue: queue, links: links, progress: progress)
    }

    /// Submits a command.
    func submit(
        _ type: String = "noop", to destination: Destination = origin, idempotent: Bool = true,
        notBefore: Timestamp = .zero
    ) throws -> Command {
        var draft = CommandDraft(
            type: type, payload: Array("{}".utf8), destination: destination, idempotent: idempotent)
        draft.notBefore = notBefore
        let results = store.submit([draft], allowUnknownTypes: true)
        return try command(try results[0].get().id)
    }

    func submitMany(_ count: Int) throws {
        let draft = CommandDraft(
            type: "noop", payload: Array("{}".utf8), destination: Self.origin, idempotent: true)
        let drafts = Array(repeating: draft, count: count)
        for result in store.submit(drafts, allowUnknownTypes: true) { _ = try result.get() }
    }

    func command(_ id: CommandID) throws -> Command {
        guard let command = try store.command(id) else { throw Missed("the command is not in the store") }
        return command
    }

    /// A worker's session, without a process.
    func openSession() throws {
        try store.open(Session(seat: 0, epoch: Self.epoch, pid: getpid(), startTime: 1, bootID: "test"))
    }

    /// The seat's lock, as a living worker holds it. The worker is dead when the lock goes away.
    func takeSeat() throws -> FileLock {
        guard let lock = try directory.run.take(.seat(0)) else { throw Missed("the seat is taken") }
        return lock
    }

    /// Claims a command for the worker of ``openSession()``.
    func claim(_ command: Command) throws -> Command {
        _ = try store.apply(
            [.claim(command.id, sent: true)], shard: shard(command), seat: 0, epoch: Self.epoch)
        return try self.command(command.id)
    }

    func end(_ command: Command, _ result: ExecutionResult) throws -> Command {
        _ = try store.apply(
            [.end(command.id, claim: command.claim, result)], shard: shard(command), seat: 0, epoch: Self.epoch)
        return try self.command(command.id)
    }

    private func shard(_ command: Command) -> Int { command.id.shard(of: store.shardCount) }
}
