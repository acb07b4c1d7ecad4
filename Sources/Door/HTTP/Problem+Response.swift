package import Commands
internal import HTTPTypes
package import Hummingbird
internal import NIOCore

extension Problem {
    /// The response that carries the document.
    /// - Parameters:
    ///   - basePath: as in ``DoorServerConfiguration/basePath``.
    ///   - instance: the id of the request.
    package func response(basePath: String, instance: String) -> Response {
        var response = Response(
            status: status, headers: [.contentType: "application/problem+json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: document(basePath: basePath, instance: instance))))
        for field in fields { response.headers[field.name] = nil }
        response.headers.append(contentsOf: fields)
        return response
    }

    func document(basePath: String, instance: String) -> [UInt8] { json(basePath: basePath, instance: instance).bytes }

    /// The document (RFC 9457).
    package func json(basePath: String, instance: String) -> JSONValue {
        .object(
            [
                .init("type", .string(uri(basePath: basePath))), .init("title", .string(title)),
                .init("status", .integer(Int64(status.code))), .init("detail", .string(detail)),
                .init("instance", .string(instance)),
            ] + members)
    }

    /// The URI of the type: that of IANA's registry, where it has the type, else a page of the door.
    package func uri(basePath: String) -> String {
        Self.registeredTypes.contains(type)
            ? "https://iana.org/assignments/http-problem-types#\(type)" : "\(basePath)/problems/\(type)"
    }

    /// Those of Resumable Uploads for HTTP. Its later drafts have dropped `completed-upload`, which earlier clients know.
    package static let registeredTypes: Set<String> = [
        "mismatching-upload-offset", "inconsistent-upload-length", "completed-upload",
    ]

    /// The type as words: `Offset mismatch`.
    package var title: String {
        let words = type.split(separator: "-").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}
