package import Commands
internal import Host
package import Logging
package import Store
internal import Synchronization
package import UploadSpool

/// The uploads of a data directory: their files in the spool, their rows in the store.
///
/// One process at a time has an engine for a data directory (``RunDirectory/Lock/door``).
package final class UploadEngine: UploadService {
    package let limits: UploadLimits
    package let statistics = UploadStatistics()
    let store: any CommandStore
    let spool: SpoolDirectory
    let rules: any UploadRules
    /// Nil: no site is asked.
    let admission: (any UploadAdmission)?
    let logger: Logger
    let committer: UploadCommitter
    /// Many small uploads share the flushes of one disk. Measured on ext4: one thread made 249–579 files/s durable, eight
    /// 942–7,345, 64 up to 9,867.
    let disk = BlockingPool(named: "sluice-spool", maxThreads: 16)
    /// Copies the parts of concatenations.
    let joinThreads = BlockingPool(named: "sluice-join", maxThreads: 2)
    let turns: UploadTurns
    let space = Mutex(SpoolSpace())
    /// Of ``tidy()``.
    let warnings = Mutex(RecentWarnings())
    /// Open uploads whose files were missing when they were last looked for.
    let missing = Mutex<Set<CommandID>>([])
    /// Idempotency keys of creations that run.
    private let keys = Mutex<Set<String>>([])
    private let appends = Atomic<Int>(0)
    /// When the files are compared with the room that is counted.
    let nextLookAtFiles: Mutex<Timestamp>
    /// When ``tidy()`` may find the next upload.
    let nextTidy: Mutex<Timestamp>

    /// Bytes of all requests together that are gathered before they are written; as many are being written.
    private static let gatherBudget = 8 << 20

    /// - Parameters:
    ///   - admission: asks the site before an upload is created; nil: none is asked.
    ///   - hint: gets the commands that may run now.
    package init(
        store: any CommandStore, spool: SpoolDirectory, limits: UploadLimits = UploadLimits(),
        rules: any UploadRules = NoRoutes(), admission: (any UploadAdmission)? = nil, logger: Logger,
        hint: @escaping @Sendable ([CommandID]) -> Void
    ) {
        self.store = store
        self.spool = spool
        self.limits = limits
        self.rules = rules
        self.admission = admission
        self.logger = logger
        nextLookAtFiles = Mutex(store.clock.now())
        nextTidy = Mutex(.zero)
        committer = UploadCommitter(store, readers: StoreReaders(store, maxThreads: 4), hint: hint)
        turns = UploadTurns { [statistics] in statistics.tookOver() }
    }

    package var now: Timestamp { store.clock.now() }

    // MARK: Creation

    package func create(
        _ facts: UploadFacts, length: Int64?, key: IdempotencyKey?
    ) async throws(UploadError) -> Upload {
        try check(length, facts)
        guard let key else { return try await makeUpload(facts, length, key: nil) }
        _ = try rules.shardByte(for: facts, length: length)
        return try await holding(key) { () async throws(UploadError) in
            guard let found = try await find(key: key.stored) else {
                return try await makeUpload(facts, length, key: key)
            }
            try found.checkCreation(facts, length: length)
            return found
        }
    }

    /// Runs `body` while no other request may use the key.
    func holding(
        _ key: IdempotencyKey, _ body: () async throws(UploadError) -> Upload
    ) async throws(UploadError) -> Upload {
        guard keys.withLock({ $0.insert(key.stored).inserted }) else {
            throw UploadError(
                .keyInUse, "Another request with this Idempotency-Key runs; repeat it when that has ended.")
        }
        defer { keys.withLock { _ = $0.remove(key.stored) } }
        return try await body()
    }

    func find(key: String) async throws(UploadError) -> Upload? {
        let result = await disk.run { [store] () throws(Never) in
            Result { () throws(StoreError) in try store.upload(idempotencyKey: key) }
        }
        do throws(StoreError) { return try result.get() } catch { throw failure(error) }
    }

    func check(_ length: Int64?, _ facts: UploadFacts) throws(UploadError) {
        guard let length else { return }
        guard length >= 0 else { throw UploadError(.inconsistentLength, "An upload of \(length) bytes cannot be.") }
        let limit = maxSize(facts)
        guard length <= limit else {
            throw UploadError(.tooLarge(limit: limit), "An upload may have \(limit) bytes; this one has \(length).")
        }
    }

    func maxSize(_ facts: UploadFacts) -> Int64 { min(rules.maxSize(for: facts) ?? .max, limits.maxSize) }

    private func makeUpload(
        _ stated: UploadFacts, _ length: Int64?, key: IdempotencyKey?
    ) async throws(UploadError) -> Upload {
        let (facts, byte) = try await decide(stated, length: length)
        let now = store.clock.now()
        try await checkUniqueKey(of: facts, byte)
        var upload = Upload(
            id: CommandID(now: now, shardByte: byte), length: length, facts: facts, createdAt: now)
        upload.due = limits.expiry(of: upload, at: 0, now: now)
        upload.idempotencyKey = key?.stored
        upload.fingerprint = key.map { _ in stated.fingerprint(length: length) }
        upload.storage = .file
        try await admit(upload, length: length)
        var isKept = false
        defer { if !isKept { space.withLock { $0.release(upload.id) } } }
        // Before the file, so that every file has a row.
        _ = try await commit(.create(upload))
        isKept = true
        statistics.created(upload)
        if length == 0, facts.concatenation == nil || facts.concatenation == .partial, facts.origin == .tus {
            // A client sends no bytes to an empty upload.
            return try await append(UploadAppend(offset: 0, size: 0, completion: .atLength), to: upload.id) { _ in }
        }
        return upload
    }

    /// A client learns before it sends the bytes that another command has the unique key.
    private func checkUniqueKey(of facts: UploadFacts, _ byte: UInt8?) async throws(UploadError) {
        guard let byte, let unique = try rules.uniqueKey(for: facts) else { return }
        let result = await disk.run { [store] () throws(Never) in
            Result { () throws(StoreError) in try store.holder(of: unique, shardByte: byte) }
        }
        let holder: CommandID?
        do throws(StoreError) { holder = try result.get() } catch { throw failure(error) }
        guard let holder else { return }
        throw UploadError(
            .uniqueKeyTaken(holder: holder),
            "Command \(holder) has the unique key “\(unique.key)” of this upload; look at that command, or send the file "
                + "under another name.")
    }

    // MARK: Reading

    package func upload(_ id: CommandID) async throws(UploadError) -> Upload {
        let number = await turns.begin(id)
        let result = await Result { () async throws(UploadError) in try await loadLiving(id) }
        await turns.end(id, number)
        let upload = try result.get()
        try await requireFile(of: upload)
        return upload
    }

    /// An upload with the offset that is durable now. A request that sends bytes to it goes on.
    package func peek(_ id: CommandID) async throws(UploadError) -> Upload {
        let upload = try await loadLiving(id)
        try await requireFile(of: upload)
        return upload
    }

    /// The digest of a complete upload; nil where its bytes are not in the spool.
    package func digest(of upload: Upload, _ algorithm: UploadDigest.Algorithm) async -> UploadDigest? {
        guard upload.state == .complete, upload.storage != .none else { return nil }
        let path = spool.file(of: upload.id)
        let found = await disk.run { () throws(Never) in
            Result { () throws(SystemError) in try SpoolFile(existing: path) }
        }
        guard let file = try? found.get() else { return nil }
        return try? await disk.digest(of: file, 0..<upload.offset, algorithm).get()
    }

    func load(_ id: CommandID) async throws(UploadError) -> Upload {
        let found: Upload?
        do throws(StoreError) {
            found = try await committer.read { store throws(StoreError) in try store.upload(id) }
        } catch {
            throw failure(error)
        }
        guard let found else { throw .notFound(id) }
        return found
    }

    /// - Throws: `gone` for an upload that has ended.
    func loadLiving(_ id: CommandID) async throws(UploadError) -> Upload {
        let upload = try await load(id)
        guard upload.state != .ended else { throw .ended(upload) }
        return upload
    }

    func commit(_ write: UploadWrite, offset: Int64? = nil) async throws(UploadError) -> UploadChange {
        do throws(StoreError) {
            let change = try await committer.commit(write)
            if let due = change.upload?.due { nextTidy.withLock { $0 = min($0, due) } }
            return change
        } catch {
            throw failure(error, offset: offset)
        }
    }

    /// The error of the store for a client. The log has the details.
    func failure(_ error: StoreError, offset: Int64? = nil) -> UploadError {
        let failure = UploadError(error, offset: offset)
        if let cause = failure.cause { warn(cause) }
        return failure
    }

    func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () throws(SystemError) -> Value
    ) async throws(UploadError) -> Value {
        do throws(SystemError) { return try await disk.run(body) } catch {
            warn("\(error)")
            throw UploadError(error)
        }
    }

    /// The size of the part that a request gathers: fewer bytes the more requests there are.
    func partSize() -> Int {
        min(max(Self.gatherBudget / max(appends.load(ordering: .relaxed), 1), 32 << 10), 1 << 20)
    }

    func appendBegan() { appends.add(1, ordering: .relaxed) }
    func appendEnded() { appends.subtract(1, ordering: .relaxed) }

    // MARK: Ends

    package func terminate(_ id: CommandID) async throws(UploadError) {
        try await terminate(id, reason: "terminated by its client")
    }

    /// As ``terminate(_:)``.
    /// - Parameter reason: a sentence, for the row of the upload.
    package func terminate(_ id: CommandID, reason: String) async throws(UploadError) {
        let number = await turns.begin(id)
        let result = await Result { () async throws(UploadError) in
            try await end(id, reason: reason)
        }
        await turns.end(id, number)
        try result.get()
    }

    /// Ends an upload whose turn the caller has.
    func end(_ id: CommandID, reason: String) async throws(UploadError) {
        let wasComplete = space.withLock { $0.isComplete(id) }
        let change = try await commit(.end(id, reason: reason, due: store.clock.now() + UploadLimits.memory))
        guard let upload = change.upload else { throw .notFound(id) }
        guard change.isApplied else {
            if upload.state == .ended { throw .ended(upload) }
            throw UploadError(.complete, "Upload \(id) is complete, and has become a command; cancel that instead.")
        }
        statistics.ended(upload)
        logEnd(of: upload, wasComplete: wasComplete)
        await dropBytes(of: upload)
    }

    /// Deletes the bytes of an upload that has ended. A failed deletion is repeated at the next start.
    func dropBytes(of upload: Upload) async {
        space.withLock { $0.release(upload.id) }
        guard upload.storage != .none else { return }
        do throws(UploadError) {
            try await onDisk { [spool] () throws(SystemError) in try spool.remove(upload.id) }
            _ = try await commit(.dropBytes(upload.id))
        } catch {
            logger.warning("The bytes of upload \(upload.id) remain in the spool: \(error)")
        }
    }

    func removeFile(of id: CommandID) {
        Task { [disk, spool] in try? await disk.run { () throws(SystemError) in try spool.remove(id) } }
    }

    /// Stops all requests. The bytes that they have brought are kept.
    package func stop() async { await turns.stopAll() }
}

extension Result where Failure == UploadError {
    fileprivate init(_ body: () async throws(UploadError) -> Success) async {
        do throws(UploadError) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
