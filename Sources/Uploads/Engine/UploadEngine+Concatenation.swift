package import Commands
internal import Host
internal import Store
internal import Synchronization
internal import UploadSpool

extension UploadEngine {
    /// The parts that one concatenation may have.
    static let maxParts = 1000
    /// Bytes that a join copies at once: others that join get their turn after each.
    private static let piece: Int64 = 4 << 20
    /// Bytes that a join makes durable at once. One sync of all of them would hold up the syncs of other uploads.
    private static let syncStep: Int64 = 64 << 20

    package func concatenate(
        _ parts: [CommandID], _ facts: UploadFacts, key: IdempotencyKey? = nil
    ) async throws(UploadError) -> Upload {
        guard let first = parts.first, parts.count <= Self.maxParts else {
            throw UploadError(
                .invalid, "A final upload has 1 to \(Self.maxParts) parts; this one has \(parts.count).")
        }
        if let twice = Self.repeated(in: parts) {
            throw UploadError(.invalid, "The final upload names part \(twice) twice; name each part once.")
        }
        var facts = facts
        facts.concatenation = .final(parts)
        let key = key ?? IdempotencyKey(concatenation: facts)
        // The same request may come twice at once.
        let number = await turns.begin(first)
        let made: Result<Upload, UploadError>
        do throws(UploadError) { made = .success(try await final(of: parts, facts, key)) } catch {
            made = .failure(error)
        }
        await turns.end(first, number)
        let final = try made.get()
        return final.state == .open ? try await join(parts, final.id) : final
    }

    private static func repeated(in parts: [CommandID]) -> CommandID? {
        var seen: Set<CommandID> = []
        return parts.first { !seen.insert($0).inserted }
    }

    /// The final upload of these parts: the one that an earlier request has made, else a new one. The parts of the earlier
    /// one may be gone.
    private func final(
        of parts: [CommandID], _ facts: UploadFacts, _ key: IdempotencyKey
    ) async throws(UploadError) -> Upload {
        if let found = try await find(key: key.stored) {
            try found.checkCreation(facts, length: nil)
            return found
        }
        var length: Int64 = 0
        for id in parts {
            let part = try await load(id)
            guard part.facts.token == facts.token else { throw .notFound(id) }
            guard part.state == .complete, part.storage == .file, part.isPartial else {
                if part.state == .ended { throw .ended(part) }
                throw UploadError(
                    .unfinishedPart, "Upload \(id) is not a finished partial upload; finish it first.",
                    offset: part.offset)
            }
            let (sum, isTooLarge) = length.addingReportingOverflow(part.offset)
            length = isTooLarge ? .max : sum
        }
        return try await create(facts, length: length, key: key)
    }

    private func join(_ parts: [CommandID], _ id: CommandID) async throws(UploadError) -> Upload {
        let number = await turns.begin(id)
        let result: Result<Upload, UploadError>
        do throws(UploadError) {
            // The same request may have joined them meanwhile.
            let final = try await load(id)
            result = .success(final.state == .open ? try await join(parts, final) : final)
        } catch {
            // The parts are there still: the client may try again, and gets a new upload.
            try? await end(id, reason: error.message)
            result = .failure(error)
        }
        await turns.end(id, number)
        return try result.get()
    }

    private func join(_ parts: [CommandID], _ final: Upload) async throws(UploadError) -> Upload {
        let file = try await onDisk { [path = spool.file(of: final.id)] () throws(SystemError) in try SpoolFile(path) }
        if let length = final.length { try await reserve(final.id, file, to: length, limit: length) }
        var end: Int64 = 0
        var unsynced: Int64 = 0
        for part in parts {
            let source = try await onDisk { [path = spool.file(of: part)] () throws(SystemError) in
                try SpoolFile(existing: path)
            }
            var position: Int64 = 0
            while true {
                let count = try await copy(source, at: position, to: file, at: end)
                guard count > 0 else { break }
                (position, end, unsynced) = (position + count, end + count, unsynced + count)
                guard unsynced >= Self.syncStep else { continue }
                try await onDisk { () throws(SystemError) in try file.sync() }
                unsynced = 0
            }
        }
        guard end == final.length else {
            throw UploadError(
                .failed, "The parts of upload \(final.id) have \(end) bytes instead of \(final.length ?? 0).")
        }
        try await makeDurable(file, isFirst: true)
        return try await complete(final, file, length: end)
    }

    /// Copies a piece on a thread that only joins use, so that uploads do not wait for one.
    /// - Returns: its bytes; 0 at the end of `source`.
    private func copy(
        _ source: SpoolFile, at position: Int64, to file: SpoolFile, at end: Int64
    ) async throws(UploadError) -> Int64 {
        do throws(SystemError) {
            return try await joinThreads.run { () throws(SystemError) in
                try file.copy(source, at: position, maxCount: Self.piece, to: end)
            }
        } catch {
            throw UploadError(error)
        }
    }
}

extension IdempotencyKey {
    /// The key of a final upload whose client sends none: the same parts with the same metadata are the same final upload.
    /// No key of a client has a control character.
    fileprivate init(concatenation facts: UploadFacts) {
        let fingerprint = facts.fingerprint(length: nil)
        self.init(value: "\u{1F}\(Hexadecimal.text(fingerprint.statement))", token: facts.token ?? "")
    }
}
