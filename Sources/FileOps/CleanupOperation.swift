package import Commands
internal import Glibc
internal import HTTPClient
internal import Host
package import Operations
package import S3
internal import Transfers

/// Removes the remains of a command that has ended: the part files beside the target of a download or copy, or
/// a multipart upload. See ``CleanupPayload``.
///
/// The store submits such commands itself (``CleanupDraft``). They are commands like others, so that a file
/// system that hangs or an endpoint that is offline delays them and nothing else.
///
/// A part whose bytes had arrived before an abort may be stored after it, and then costs money unseen (AWS,
/// “AbortMultipartUpload”). So an upload is aborted twice, with an hour in between. The command waits in the store.
package struct CleanupOperation: CommandOperation {
    /// From the first abort of an upload to the second.
    static let secondLook: Duration = .seconds(3600)

    package let type = CommandType.cleanup

    package let s3: S3Operation
    var secondLook = Self.secondLook

    package init(s3: S3Operation, secondLook: Duration = Self.secondLook) {
        self.s3 = s3
        self.secondLook = secondLook
    }

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
        case .upload(let put, let id, let abortedAt):
            guard let first = abortedAt ?? Self.firstAbort(execution.checkpoint) else {
                try await s3.abort(id, of: put, execution)
                let mark: JSONValue = ["aborted": .integer(Timestamp.now.milliseconds)]
                try await execution.saveCheckpoint(mark.bytes)
                throw held(for: secondLook)
            }
            let wait = first + secondLook - .now
            // A clock that was set back must not make it wait longer than a whole period.
            guard wait <= .zero || wait > secondLook else { throw held(for: wait) }
            try await s3.abort(id, of: put, execution)
            return nil
        }
    }

    private func held(for wait: Duration) -> CommandFailure {
        .heldBack(
            reason:
                "the upload is aborted; a part that was under way then may still arrive, so it is aborted once more",
            for: wait)
    }

    private static func firstAbort(_ checkpoint: [UInt8]?) -> Timestamp? {
        let mark = checkpoint.flatMap { try? JSONValue(parsing: $0) }
        return mark?["aborted"]?.integer.map(Timestamp.init(milliseconds:))
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

/// The payload of a `cleanup`, checked.
///
/// ```
/// {"part": "/data/in/a.mp4",          a target: its part files `.a.mp4.<command>.<claim>.part` are deleted
///  "command": "01998b5e-…",           the command that made them
///  "claim": 3}                        its last execution
///
/// {"s3": {"bucket": …}, "upload": "VXBsb2FkSUQ",     the payload of an `s3`, and the multipart upload that is aborted
///  "aborted": 1763000000000}                         when it was aborted the first time; absent: it was not
/// ```
struct CleanupPayload: Sendable, Equatable {
    enum Remains: Sendable, Equatable {
        case parts(target: String, of: CommandID, maxClaim: Int)
        case upload(S3Payload, id: String, abortedAt: Timestamp?)
    }

    var remains: Remains

    private static let keys = "“part”, “command” and “claim”, or “s3”, “upload” and “aborted”"

    init(_ remains: Remains) { self.remains = remains }

    /// Reads and checks the payload without touching the file system.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a cleanup", keys: Self.keys)
        if let path = try reader.text("part") {
            guard path.beginsWithBytes(of: "/"), !path.endsWithBytes(of: "/"), !path.utf8.contains(0) else {
                throw PayloadError(.data, "“part” must be the absolute path of a file")
            }
            guard let command = CommandID(try reader.text("command", isRequired: true) ?? "") else {
                throw PayloadError(.data, "“command” must be the UUID of a command")
            }
            let claim = try reader.integer("claim", in: 1...Int64(Int32.max)) ?? 1
            remains = .parts(target: path, of: command, maxClaim: Int(claim))
        } else {
            guard let described = reader.take("s3") else {
                throw PayloadError(.data, "the payload of a cleanup has \(Self.keys)")
            }
            let put = try S3Payload(described)
            guard case .object = put.target else {
                throw PayloadError(.data, "“s3” must name a bucket; a presigned URL has no multipart upload")
            }
            let id = try reader.text("upload", isRequired: true) ?? ""
            guard S3Checkpoint.isUploadID(id) else {
                throw PayloadError(.data, "“upload” must be the id of a multipart upload")
            }
            let aborted = try reader.integer("aborted", in: 0...Int64.max / 1_000_000)
            remains = .upload(put, id: id, abortedAt: aborted.map(Timestamp.init(milliseconds:)))
        }
        try reader.finish()
    }

    /// The endpoint, or the file system of the target.
    var destination: Destination {
        switch remains {
        case .parts(let target, _, _): .file(at: target)
        case .upload(let put, _, _): put.destination
        }
    }

    var json: JSONValue {
        switch remains {
        case .parts(let target, let command, let claim):
            [
                "part": .string(target), "command": .string(command.description), "claim": .integer(Int64(claim)),
            ]
        case .upload(let put, let id, let abortedAt):
            .object(
                [.init("s3", put.json), .init("upload", .string(id))]
                    + (abortedAt.map { [.init("aborted", .integer($0.milliseconds))] } ?? []))
        }
    }
}
