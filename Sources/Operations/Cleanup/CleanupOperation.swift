package import Commands
internal import Glibc
internal import Host
package import Work

/// Removes the remains of a command that has ended: the part files beside the target of a download or copy, or
/// a multipart upload. See ``CleanupPayload``.
///
/// The store submits such commands itself (``CleanupDraft``). They are commands like others, so that a file
/// system that hangs or an endpoint that is offline delays them and nothing else.
package struct CleanupOperation: CommandOperation {
    package let type = CommandType.cleanup

    let s3: S3Operation

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        let cleanup = try CleanupPayload(payload)
        return PayloadAttributes(destination: cleanup.destination, idempotent: true, payload: cleanup.json)
    }

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let cleanup: CleanupPayload
        do {
            cleanup = try CleanupPayload(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this cleanup cannot be used: \(error)")
        }
        switch cleanup.remains {
        case .parts(let target, let command, let maxClaim):
            do {
                return try await Self.delete(partsOf: command, maxClaim: maxClaim, beside: target)
            } catch is CancellationError {
                throw CommandFailure.stopped("the deletion of part files beside \(target)")
            }
        case .upload(let put, let id):
            try await s3.abort(id, of: put, execution)
            return nil
        }
    }

    private static func delete(
        partsOf command: CommandID, maxClaim: Int, beside path: String
    ) async throws -> [UInt8] {
        let target = try await CopyTarget.following(path)
        let deleted = try await BlockingIO.copies.queue(of: target.path).run { _ in
            var deleted: Int64 = 0
            for part in target.temporaryPaths(command, before: maxClaim + 1) {
                if unlink(part) == 0 {
                    deleted += 1
                } else if errno != ENOENT, errno != ENOTDIR {
                    throw target.failure(SystemError(), "cannot delete \(part)")
                }
            }
            return deleted
        }
        return JSONValue.object([.init("deleted", .integer(deleted))]).bytes
    }
}
