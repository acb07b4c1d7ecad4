package import Commands
internal import HTTPTypes
internal import NIOCore
internal import Store

/// A response of the upload protocols that is not a problem.
struct UploadReply: Equatable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    /// Nil for an empty body.
    var body: JSONValue?

    var response: Response {
        guard let body else { return Response(status: status, headers: fields) }
        var fields = fields
        fields[.contentType] = "application/json"
        return Response(status: status, headers: fields, body: Response.Body(byteBuffer: ByteBuffer(bytes: body.bytes)))
    }
}

/// Writes the responses that are the same for all protocols: of a complete upload, and about one.
enum PlainWriter {
    /// Answers the request that completes an upload.
    static func completed(_ upload: Upload, location: String) -> UploadReply {
        var reply = UploadReply(status: .created, fields: [.location: location], body: summary(upload))
        reply.fields[.sluiceCommandID] = upload.command.map { "\($0)" }
        return reply
    }

    /// Answers a form with several files.
    static func completed(_ uploads: [Upload]) -> UploadReply {
        UploadReply(status: .created, body: ["uploads": .array(uploads.map(summary))])
    }

    static func summary(_ upload: Upload) -> JSONValue {
        [
            "id": .string("\(upload.id)"), "state": .string(upload.state.name), "size": .integer(upload.offset),
            "command": upload.command.map { .string("\($0)") } ?? .null,
        ]
    }
}

extension Upload {
    /// The properties of an upload. The token and the metadata of its creator are not among them.
    package var json: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return [
            "id": .string("\(id)"), "state": .string(state.name), "offset": .integer(offset),
            "length": length.map { .integer($0) } ?? .null,
            "protocol": .string(facts.origin.rawValue), "fileName": text(facts.fileName),
            "contentType": text(facts.contentType), "route": text(facts.route),
            "createdAt": .string("\(createdAt)"), "updatedAt": .string("\(updatedAt)"),
            "expiresAt": state == .open ? text(due.map { "\($0)" }) : .null,
            "command": text(command.map { "\($0)" }), "reason": text(reason),
        ]
    }
}

extension UploadState {
    /// The word in JSON and in queries.
    package var name: String {
        switch self {
        case .open: "open"
        case .complete: "complete"
        case .ended: "ended"
        }
    }

    /// Nil for any other word.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
