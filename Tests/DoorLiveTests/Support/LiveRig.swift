import Commands
import Glibc
import Host
import Membership
import Queue
import Store
import TestSupport

@testable import DoorLive

/// A store without processes, whose commands a test moves.
struct LiveRig: Sendable {
    let place: TemporaryDirectory
    let opened: OpenedStore

    static let origin = Destination(scheme: "https", host: "media.example.com", port: 443)
    private static let epoch: Int64 = 7

    static func with(_ body: (LiveRig) async throws -> Void) async throws {
        let rig = try LiveRig()
        defer { rig.place.remove() }
        try await body(rig)
    }

    private init() throws {
        place = try TemporaryDirectory("live")
        opened = try Stores.open(.directory(DataDirectory(path: "\(place.path)/data")), create: true, shardCount: 4)
        try store.open(Session(seat: 0, epoch: Self.epoch, pid: getpid(), startTime: 1, bootID: "test"))
    }

    var store: any CommandStore { opened.store }
    var directory: DataDirectory { opened.directory }
    var queue: QueueAccess { QueueAccess(opened) }

    @discardableResult
    func submit(_ count: Int = 1, type: String = "noop", to destination: Destination = origin) throws -> [CommandID] {
        let draft = CommandDraft(type: type, payload: Array("{}".utf8), destination: destination, idempotent: true)
        let drafts = Array(repeating: draft, count: count)
        return try store.submit(drafts, allowUnknownTypes: true).map { try $0.get().id }
    }

    /// Claims commands and ends them.
    func execute(_ ids: [CommandID], _ result: ExecutionResult) throws {
        for id in ids {
            let shard = id.shard(of: store.shardCount)
            _ = try store.apply([.claim(id, sent: true)], shard: shard, seat: 0, epoch: Self.epoch)
            let claim = try store.command(id)?.claim ?? 0
            _ = try store.apply([.end(id, claim: claim, result)], shard: shard, seat: 0, epoch: Self.epoch)
        }
    }

    /// The newest number of each shard.
    var newest: TransitionPosition {
        get throws {
            TransitionPosition(
                try (0..<store.shardCount).map { shard in try store.lastTransition(shard: shard) })
        }
    }

    /// Every transition that the store has.
    var transitions: Set<String> {
        get throws {
            var all: Set<String> = []
            for shard in 0..<store.shardCount {
                for event in try store.events(shard: shard, after: 0, limit: 1_000_000).events {
                    all.insert("\(shard)/\(event.transition.seq)")
                }
            }
            return all
        }
    }
}

extension LiveRig {
    /// A transition for tests of what is written.
    static func event(
        _ number: Int64, shard: Int = 0, status: CommandStatus = .success, type: String = "noop"
    ) -> StatusEvent {
        StatusEvent(
            transition: Transition(seq: number, id: CommandID(), status: status, at: .now, claim: 1), type: type,
            qos: .default, destination: origin, retries: 0, shard: shard)
    }
}
