package import Commands
internal import Host
package import Store
internal import Synchronization

extension UploadEngine {
    /// The parts that one concatenation may have.
    static let maxParts = 1000

    package func concatenate(
        _ parts: [CommandID], _ facts: UploadFacts, key: IdempotencyKey? = nil
    ) async throws(UploadError) -> Upload {
        guard !parts.isEmpty, parts.count <= Self.maxParts else {
            throw UploadError(
                .invalid, "A final upload has 1 to \(Self.maxParts) parts; this one has \(parts.count).")
        }
        var length: Int64 = 0
        for id in parts {
            let part = try await load(id)
            guard part.state == .complete, part.storage == .file, part.isPartial, part.facts.token == facts.token else {
                if part.state == .ended { throw .ended(part) }
                throw UploadError(
                    .unfinishedPart, "Upload \(id) is not a finished partial upload; finish it first.",
                    offset: part.offset)
            }
            let (sum, isTooLarge) = length.addingReportingOverflow(part.offset)
            length = isTooLarge ? .max : sum
        }
        var facts = facts
        facts.concatenation = .final(parts)
        let final = try await create(facts, length: length, key: key)
        let number = await turns.begin(final.id)
        let result: Result<Upload, UploadError>
        do throws(UploadError) {
            // The same request again, whose response was lost, finds it complete.
            let present = try await load(final.id)
            result = .success(
                present.state == .open ? try await join(parts, present, length: length) : present)
        } catch {
            // The parts are there still: the client may try again, and gets a new upload.
            try? await end(final.id, reason: error.message)
            result = .failure(error)
        }
        await turns.end(final.id, number)
        return try result.get()
    }

    private func join(_ parts: [CommandID], _ final: Upload, length: Int64) async throws(UploadError) -> Upload {
        let path = spool.file(of: final.id)
        let files = parts.map { spool.file(of: $0) }
        let file = try await onDisk { () throws(SystemError) in
            let file = try SpoolFile(path)
            var offset: Int64 = 0
            for part in files { offset = try file.append(SpoolFile(existing: part), at: offset) }
            try file.sync()
            return (file: file, size: offset)
        }
        guard file.size == length else {
            throw UploadError(.failed, "The parts of upload \(final.id) have \(file.size) bytes instead of \(length).")
        }
        try await onDisk { [spool] () throws(SystemError) in try spool.sync() }
        return try await complete(final, file.file, length: length)
    }
}
