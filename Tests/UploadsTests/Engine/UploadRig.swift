import Commands
import Foundation
import Host
import Logging
import Store
import Synchronization
import TestSupport
import UploadSpool
import Uploads

/// A store, a spool, and an engine that a test may crash.
final class UploadRig: Sendable {
    let directory: TemporaryDirectory
    let store: any CommandStore
    let spool: SpoolDirectory
    let rules: TestRules
    let limits: UploadLimits
    private let clock = SettableClock(at: Timestamp(milliseconds: 1_800_000_000_000))
    private let hints = Mutex<[CommandID]>([])

    init(
        rules: TestRules = TestRules(), isDurable: Bool = false, spool: String? = nil,
        _ change: (inout UploadLimits) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory("uploads")
        self.spool = SpoolDirectory(path: try spool ?? directory.makeDirectory("spool"))
        store =
            isDurable
            ? try SQLiteStore(
                directory: DataDirectory(path: "\(directory.path)/data"), shardCount: 2, clock: clock)
            : MemoryStore(shardCount: 2, clock: clock)
        self.rules = rules
        var limits = UploadLimits()
        limits.minFree = 0
        change(&limits)
        self.limits = limits
    }

    deinit { directory.remove() }

    var hinted: [CommandID] { hints.withLock { $0 } }
    var now: Timestamp { clock.now() }
    func advance(_ duration: Duration) { clock.advance(by: duration) }

    /// A new engine, as after a start of the door.
    /// - Parameter rules: of another configuration; nil: those of the rig.
    func engine(
        rules: TestRules? = nil, admission: (any UploadAdmission)? = nil, logger: Logger = Logger(label: "test")
    ) -> UploadEngine {
        UploadEngine(
            store: store, spool: spool, limits: limits, rules: rules ?? self.rules, admission: admission,
            logger: logger, hint: { ids in self.hints.withLock { $0 += ids } })
    }

    /// Lets the commands succeed, as a worker does.
    func succeed(_ ids: [CommandID]) throws {
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 2, bootID: "boot"))
        for id in ids {
            let writes: [ExecutionWrite] = [.claim(id, sent: true), .end(id, claim: 1, .success(result: nil))]
            _ = try store.apply(writes, shard: id.shard(of: 2), seat: 1, epoch: 1, timeout: .seconds(1))
        }
    }

    /// The files of the spool without its mark.
    func spooledFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: spool.path).filter {
            !$0.hasPrefix(DataDirectory.uploadsMarkPrefix)
        }
    }
    func bytes(_ id: CommandID) -> [UInt8]? { contents(of: spool.file(of: id)) }
}

/// Routes of a test: “noop” makes a command, “refused” none, “key” one with a unique key.
struct TestRules: UploadRules {
    var retention = Duration.zero
    var sizes: [String: Int64] = [:]
    /// Routes that were removed from the configuration since the creation of uploads.
    var removed: Set<String> = []
    /// Called before each command is made. It may block.
    var beforeSubmission: @Sendable () -> Void = {}

    func shardByte(for facts: UploadFacts, length: Int64?) throws(UploadError) -> UInt8? {
        guard let route = facts.route else { return nil }
        guard route != "unknown" else { throw UploadError(.invalid, "There is no route “unknown”.") }
        guard facts.fileName != "unfit" else { throw UploadError(.invalid, "The name does not fit.") }
        return UploadSubmission.command(draft(route)).shardByte
    }

    func uniqueKey(for facts: UploadFacts) throws(UploadError) -> UniqueKey? {
        facts.route == "key" ? UniqueKey(type: "noop", orderingKey: "", key: "daily") : nil
    }

    func maxSize(for facts: UploadFacts) -> Int64? { facts.route.flatMap { sizes[$0] } }

    func needsDigest(_ facts: UploadFacts) -> Bool { facts.route == "key" }

    func submission(
        for upload: Upload, file: String, sha256: [UInt8]?
    ) throws(UploadError) -> UploadSubmission? {
        beforeSubmission()
        if upload.facts.route == "key", sha256?.count != 32 { throw UploadError(.failed, "There is no digest.") }
        guard let route = upload.facts.route else { return nil }
        if removed.contains(route) { throw UploadError(.invalid, "The route “\(route)” is not there.") }
        return .command(draft(route))
    }

    func retention(for facts: UploadFacts) -> Duration { retention }

    private func draft(_ route: String) -> CommandDraft {
        var draft = CommandDraft(
            type: route == "refused" ? "unknown" : "noop", payload: Array("{}".utf8), destination: .none,
            idempotent: true)
        if route == "key" { draft.uniqueKey = "daily" }
        return draft
    }
}

extension UploadEngine {
    func create(
        _ route: String? = nil, length: Int64?, key: String? = nil, _ change: (inout UploadFacts) -> Void = { _ in }
    ) async throws -> Upload {
        var facts = UploadFacts(origin: .tus)
        facts.route = route
        change(&facts)
        return try await create(facts, length: length, key: key.map { IdempotencyKey(value: $0, token: "t") })
    }

    /// Sends bytes in one request.
    /// - Parameter part: bytes of each part.
    @discardableResult
    func send(
        _ bytes: [UInt8], to id: CommandID, at offset: Int64, _ completion: UploadAppend.Completion = .atLength,
        part: Int = 1000, cutsAfter cut: Int? = nil, _ change: (inout UploadAppend) -> Void = { _ in }
    ) async throws -> Upload {
        var request = UploadAppend(offset: offset, size: Int64(bytes.count), completion: completion)
        change(&request)
        return try await append(request, to: id) { receiver in
            var position = 0
            while position < bytes.count {
                let end = min(position + part, bytes.count, cut ?? .max)
                bytes[position..<end].withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
                position = end
                if let cut, position >= cut { throw CutConnection() }
            }
        }
    }
}

/// The error of a connection that ended in the middle of a request.
struct CutConnection: Error {}

/// Runs `body`, which must throw an ``UploadError``.
func uploadError(_ body: () async throws -> some Any) async throws -> UploadError {
    do { _ = try await body() } catch let error as UploadError { return error }
    throw Missed("no error was thrown")
}
