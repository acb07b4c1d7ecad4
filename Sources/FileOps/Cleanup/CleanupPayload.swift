internal import Commands
internal import HTTPClient
internal import Operations
internal import S3
internal import Transfers

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
