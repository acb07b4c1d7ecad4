internal import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization
internal import UploadSpool

extension UploadEngine {
    /// Uploads that one round looks at, in each shard.
    private static let roundSize = 500
    /// A list of 100,000 files takes about 50 ms of one thread.
    private static let filesInterval: Duration = .seconds(30)

    /// Between two looks at the uploads where none that this process has changed is due.
    private static let maxTidyInterval: Duration = .seconds(30)

    /// Whether ``tidy()`` may find something: the door changes its uploads itself, and knows when the next is due.
    package var isTidyDue: Bool {
        let now = store.clock.now()
        // The clock may have been set back.
        return nextTidy.withLock { $0 <= now || $0 > now + Self.maxTidyInterval }
    }

    /// Ends uploads that have expired, and deletes bytes that are not needed any more.
    /// - Returns: the number of uploads that were looked at. Call it again until it is 0, then while ``isTidyDue``.
    package func tidy() async -> Int {
        let now = store.clock.now()
        nextTidy.withLock { $0 = now + Self.maxTidyInterval }
        var count = 0
        let isLookDue = nextLookAtFiles.withLock { next in
            // The clock may have been set back.
            guard next <= now || next > now + Self.filesInterval else { return false }
            next = now + Self.filesInterval
            return true
        }
        if isLookDue {
            do throws(UploadError) { try await releaseRemoved() } catch {
                logger.warning("The spool cannot be compared with the store: \(error)")
            }
        }
        let found = await disk.run { [store] () throws(Never) in
            var found: [(shard: Int, uploads: Result<[Upload], StoreError>)] = []
            store.dueUploads(limit: Self.roundSize) { found.append(($0, $1)) }
            // An upload may be younger than a clock that has jumped says. A jump after this time does not count.
            return found.isEmpty || store.isClockHeld ? [] : found
        }
        for (shard, due) in found {
            switch due {
            case .failure(let error):
                warn("The uploads of shard \(shard) cannot be read: \(error)")
                nextTidy.withLock { $0 = now }
            case .success(let uploads):
                for upload in uploads {
                    do throws(UploadError) { try await tidy(upload, now) } catch {
                        warn("Upload \(upload.id) cannot be tidied up: \(error)")
                        nextTidy.withLock { $0 = now }
                        continue
                    }
                    count += 1
                }
            }
        }
        return count
    }

    /// Logs a message, unless it was logged a short time ago.
    func warn(_ message: String) {
        if warnings.withLock({ $0.isNew(message, now: .now) }) { logger.warning("\(message)") }
    }

    private func tidy(_ upload: Upload, _ now: Timestamp) async throws(UploadError) {
        let number = await turns.begin(upload.id)
        let result: Result<Void, UploadError>
        do throws(UploadError) { result = .success(try await tidyInTurn(upload.id, now)) } catch {
            result = .failure(error)
        }
        await turns.end(upload.id, number)
        try result.get()
    }

    private func tidyInTurn(_ id: CommandID, _ now: Timestamp) async throws(UploadError) {
        let upload = try await load(id)
        // A request may have moved it on.
        guard let due = upload.due, due <= now else { return }
        switch upload.state {
        case .open: try await end(id, reason: limits.reasonOfExpiry(upload, now))
        case .ended:
            await dropBytes(of: upload)
            _ = try await commit(.remove(id))
        case .complete:
            guard let command = upload.command else {
                guard upload.isPartial else { return try await forget(upload, now) }
                return try await end(id, reason: "no final upload was made of it for \(Int(limits.maxAge.seconds)) s")
            }
            let found: Command?
            do throws(StoreError) {
                found = try await committer.read { store throws(StoreError) in try store.command(command) }
            } catch {
                throw UploadError(error)
            }
            if let next = nextLook(upload, found, now) {
                _ = try await commit(.postpone(id, due: next))
            } else {
                try await forget(upload, now)
            }
        }
    }

    /// Deletes the bytes of a complete upload. Its row stays for a day where its client may come back: the response to
    /// its last bytes may be lost, and a client that finds no upload sends the whole file again.
    private func forget(_ upload: Upload, _ now: Timestamp) async throws(UploadError) {
        await dropBytes(of: upload)
        // The time of the completion is not kept. Bytes that are deleted only now were needed until now.
        let end = (upload.storage == .none ? upload.createdAt : now) + UploadLimits.memory
        if upload.mayBeAskedFor, end > now {
            _ = try await commit(.postpone(upload.id, due: end))
        } else {
            _ = try await commit(.remove(upload.id))
        }
    }

    /// Releases the room of uploads whose files another process has removed.
    func releaseRemoved() async throws(UploadError) {
        let known = space.withLock { $0.ids }
        let files = Set(try await onDisk { [spool] () throws(SystemError) in try spool.files() })
        for id in known where !files.contains(id) {
            let upload: Upload
            do throws(UploadError) { upload = try await load(id) } catch {
                // One that is being created has no row yet.
                if error.code == .notFound { continue }
                throw error
            }
            guard upload.state == .ended else { continue }
            let wasComplete = space.withLock { space in
                defer { space.release(id) }
                return space.isComplete(id)
            }
            logEnd(of: upload, wasComplete: wasComplete)
        }
    }

    /// - Parameter command: nil where it was pruned.
    /// - Returns: nil where the bytes may go now.
    private func nextLook(_ upload: Upload, _ command: Command?, _ now: Timestamp) -> Timestamp? {
        guard let command else { return nil }
        guard command.status == .success else {
            // A person may retry it as long as it is kept.
            let age = now - upload.createdAt
            return now + min(max(age / 2, .seconds(10)), .seconds(3600))
        }
        let end = command.updatedAt + rules.retention(for: upload.facts)
        return end > now ? end : nil
    }
}

/// The log of uploads: one line for each, at its end.
extension UploadEngine {
    /// Logs that an upload has all its bytes.
    func logCompletion(of upload: Upload) { logEnd(of: upload, "complete") }

    /// Logs that an upload has ended before it had all its bytes.
    /// - Parameter wasComplete: its line is in the log already: it is a part that no final upload took, or stayed in the
    ///   spool and was removed.
    func logEnd(of upload: Upload, wasComplete: Bool) {
        if !wasComplete { logEnd(of: upload, upload.reason ?? "terminated") }
    }

    private func logEnd(of upload: Upload, _ ending: String) {
        let facts = upload.facts
        var metadata: Logger.Metadata = [
            "upload": "\(upload.id)", "ending": "\(ending)", "protocol": "\(facts.origin.rawValue)",
            "bytes": "\(upload.offset)", "created": "\(upload.createdAt)",
            "seconds": "\(max(store.clock.now() - upload.createdAt, .zero).seconds)",
        ]
        if let route = facts.route { metadata["route"] = "\(route)" }
        if let name = facts.fileName { metadata["name"] = "\(name.excerpt)" }
        if let token = facts.tokenName ?? facts.token { metadata["token"] = "\(token)" }
        // A command that has its unique key.
        if let command = upload.command, command != upload.id { metadata["command"] = "\(command)" }
        logger.info("An upload has ended", metadata: metadata)
    }
}

extension UploadLimits {
    /// Bytes a second that an upload makes on average over a life of several ``maxAge``. A client that sends a byte now and
    /// then could hold its room for ever otherwise (draft-ietf-httpbis-resumable-upload, security considerations).
    private static let minRate: Int64 = 1 << 10

    /// The time from the creation of an upload to its end where it keeps on making progress.
    /// - Parameter offset: bytes that it has.
    func maxLife(at offset: Int64) -> Duration { maxAge * 4 + .seconds(offset / Self.minRate) }

    /// When an upload expires that makes progress now.
    /// - Parameter offset: bytes that it has then.
    func expiry(of upload: Upload, at offset: Int64, now: Timestamp) -> Timestamp {
        min(now + maxAge, upload.createdAt + maxLife(at: offset))
    }

    func reasonOfExpiry(_ upload: Upload, _ now: Timestamp) -> String {
        upload.createdAt + maxLife(at: upload.offset) <= now
            ? "it made \(upload.offset) bytes in \(Int((now - upload.createdAt).seconds)) s"
            : "it made no progress for \(Int(maxAge.seconds)) s"
    }
}

/// Which warnings of a round that repeats every second are worth a log line: each once a minute. Pure.
struct RecentWarnings {
    private var loggedAt: [String: MonotonicTime] = [:]

    static let interval: Duration = .seconds(60)

    mutating func isNew(_ message: String, now: MonotonicTime) -> Bool {
        loggedAt = loggedAt.filter { now - $0.value < Self.interval }
        guard loggedAt[message] == nil else { return false }
        loggedAt[message] = now
        return true
    }
}
