import Commands
import Host
import Store
import TestSupport
import Testing

/// The stores on which every conformance test runs.
enum StoreKind: String, Sendable, CustomTestStringConvertible {
    case sqlite, memory
    /// A schema on the server of this process.
    case postgresql
    /// These, as a server has them: outcomes of commits are forgotten, numbers have holes, and the clock is 10 minutes ahead.
    case forgetfulSQLite, forgetfulMemory
    /// SQLite, with the tables of release 0.1.0.
    case firstRelease

    /// The stores that can do all that this release can. PostgreSQL is left out where it is not installed.
    static let current: [StoreKind] =
        [.sqlite, .memory, .forgetfulSQLite, .forgetfulMemory] + (PostgreSQLServer.isInstalled ? [.postgresql] : [])
    static let allCases = current + [.firstRelease]

    var testDescription: String { rawValue }
}

/// A new store with a clock that the test sets, and helpers for the steps that most tests need.
final class StoreUnderTest: Sendable {
    let store: any CommandStore
    let clock: SettableClock
    private let directory: TemporaryDirectory?
    private let schema: PostgreSQLTestSchema?

    /// Of the forgetful stores. Each test has another one, from its line.
    private static let seed = SeededRandom.announced("ForgetfulStore").seed

    static let seat = 1
    static let epoch: Int64 = 0x1234_5678_9ABC_DEF

    init(_ kind: StoreKind, shardCount: Int = 4, line: UInt64 = #line) throws {
        let isForgetful = kind == .forgetfulSQLite || kind == .forgetfulMemory
        clock = SettableClock(ahead: isForgetful ? .seconds(600) : .zero)
        let own: any CommandStore & StoreHealth
        switch kind {
        case .postgresql:
            let schema = try PostgreSQLTestSchema(shardCount: shardCount)
            self.schema = schema
            directory = nil
            own = try PostgreSQLStore(url: schema.url, schema: schema.name, clock: clock)
        case .memory, .forgetfulMemory:
            schema = nil
            directory = nil
            own = MemoryStore(shardCount: shardCount, clock: clock)
        case .sqlite, .forgetfulSQLite, .firstRelease:
            let directory = try TemporaryDirectory("store")
            self.directory = directory
            schema = nil
            let data = DataDirectory(path: "\(directory.path)/data")
            if kind == .firstRelease { try data.createAsFirstRelease(shards: shardCount) }
            own = try SQLiteStore(directory: data, shardCount: shardCount, clock: clock)
        }
        store = isForgetful ? RepeatingStore(ForgetfulStore(own, seed: Self.seed ^ line)) : own
    }

    /// - Parameter clock: of the store.
    init(_ store: any CommandStore, clock: SettableClock) {
        (self.store, self.clock) = (store, clock)
        (directory, schema) = (nil, nil)
    }

    deinit {
        directory?.remove()
        schema?.remove()
    }

    /// Submits one draft and returns its id.
    @discardableResult
    func submit(_ draft: CommandDraft = .noop, now: Timestamp = .base) throws -> CommandID {
        try submit([draft], now: now)[0]
    }

    @discardableResult
    func submit(_ drafts: [CommandDraft], now: Timestamp = .base) throws -> [CommandID] {
        try store.submit(drafts, allowUnknownTypes: false, now: now).map { try $0.get().id }
    }

    func open(seat: Int = seat, epoch: Int64 = epoch) throws {
        try store.open(Session(seat: seat, epoch: epoch, pid: 1, startTime: 2, bootID: "boot"))
    }

    /// Applies one write.
    @discardableResult
    func apply(
        _ write: ExecutionWrite, seat: Int = seat, epoch: Int64 = epoch, now: Timestamp = .base + .seconds(1)
    ) throws -> ExecutionOutcome {
        let shard = write.id.shard(of: store.shardCount)
        return try store.apply([write], shard: shard, seat: seat, epoch: epoch, now: now)[0]
    }

    /// Claims a command.
    /// - Returns: the number of the claim; nil where it is refused.
    @discardableResult
    func claim(
        _ id: CommandID, sent: Bool = true, seat: Int = seat, epoch: Int64 = epoch, now: Timestamp = .base + .seconds(1)
    ) throws -> Int? {
        let outcome = try apply(.claim(id, sent: sent), seat: seat, epoch: epoch, now: now)
        guard case .claimed(let command, _, _, _) = outcome else { return nil }
        return command.claim
    }

    func status(_ id: CommandID) throws -> CommandStatus? { try store.command(id)?.status }

    func statuses(_ id: CommandID) throws -> [CommandStatus] { try store.timeline(id).map(\.status) }

    /// Moves a new command to a status in which it can stay.
    func make(_ status: CommandStatus, of draft: CommandDraft = .noop) throws -> CommandID {
        var draft = draft
        draft.idempotent = status != .inDoubt
        let id = try submit(draft)
        try open()
        switch status {
        case .new, .blocked: break
        case .queued: try claim(id, sent: false)
        case .sent: try claim(id)
        case .error:
            try claim(id)
            try apply(.end(id, claim: 1, .failure(CommandFailure(.command, reason: "went wrong"))))
        case .success:
            try claim(id)
            try apply(.end(id, claim: 1, .success(result: Array("{}".utf8))))
        case .cancelled: _ = try store.cancel(id, reason: "not wanted", now: .base)
        case .inDoubt:
            try claim(id)
            try apply(.end(id, claim: 1, .failure(CommandFailure(.command, reason: "cut", ambiguous: true))))
        case .tooManyTimes:
            try claim(id)
            try apply(.end(id, claim: 1, .failure(CommandFailure(.final, reason: "no such thing"))))
        }
        return id
    }

    /// The counts, computed row by row.
    func counted() throws -> CommandCounts {
        var counts = CommandCounts()
        var after: CommandID?
        while true {
            let page = try store.list(CommandFilter(), after: after, limit: 1000)
            for command in page { counts[command.status, command.qos] += 1 }
            guard let last = page.last else { return counts }
            after = last.id
        }
    }

    /// Compares the stored counts with the rows.
    func countsAreTrue() throws -> Bool {
        let (stored, counted) = (try store.counts(), try counted())
        return CommandStatus.allCases.allSatisfy { status in
            QualityOfService.allCases.allSatisfy { stored[status, $0] == counted[status, $0] }
        }
    }
}

extension Timestamp {
    /// The time at which tests begin: 2026-03-01T00:00:00Z.
    static let base = Timestamp(milliseconds: 1_772_323_200_000)
}

extension CommandDraft {
    static let noop = CommandDraft(
        type: "noop", payload: Array(#"{"milliseconds": 0}"#.utf8), destination: .none, idempotent: true)

    /// The same draft with other fields.
    func with(_ change: (inout CommandDraft) -> Void) -> CommandDraft {
        var draft = self
        change(&draft)
        return draft
    }
}

extension Destination {
    static func test(_ name: String) -> Destination { Destination(scheme: "https", host: name, port: 443) }
}
