import Commands
import Door
import HTTPTypes
import NIOCore
import Synchronization

@testable import Door

/// A response of the upload endpoints.
struct UploadsAnswer: Sendable {
    var status: Int
    var fields: HTTPFields
    /// The type of a problem; nil for a success.
    var problem: String?
    var detail: String?
    var members: [JSONValue.Member] = []
    /// The body; nil for a problem, and for a response without JSON.
    var body: JSONValue?
    /// The responses before the final one.
    var interim: [UploadsAnswer] = []

    init(status: Int, fields: HTTPFields) {
        self.status = status
        self.fields = fields
    }

    init(_ problem: Problem) {
        self.init(status: problem.status.code, fields: problem.fields)
        self.problem = problem.type
        detail = problem.detail
        members = problem.members
    }

    init(_ response: Response) async throws {
        self.init(status: response.status.code, fields: response.headers)
        let writer = Writer()
        try await response.body.write(writer)
        body = try? JSONValue(parsing: writer.bytes.withLock(\.self))
    }

    subscript(_ name: HTTPField.Name) -> String? { fields[name] }

    /// The id in `Location`.
    var id: CommandID? { fields[.location].flatMap { $0.split(separator: "/").last }.flatMap { CommandID($0) } }
    /// The path of the upload below the base path.
    var path: String { "/uploads/\(id.map { "\($0)" } ?? "none")" }

    private final class Writer: ResponseBodyWriter, Sendable {
        let bytes = Mutex<[UInt8]>([])

        func write(_ buffer: ByteBuffer) { bytes.withLock { $0 += buffer.readableBytesView } }
        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
