internal import Commands
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

    func document(basePath: String, instance: String) -> [UInt8] {
        var document = JSONWriter()
        document.value(
            .object(
                [
                    .init("type", .string("\(basePath)/problems/\(type)")), .init("title", .string(title)),
                    .init("status", .integer(Int64(status.code))), .init("detail", .string(detail)),
                    .init("instance", .string(instance)),
                ] + members))
        return document.bytes
    }

    /// The type as words: `Offset mismatch`.
    package var title: String {
        let words = type.split(separator: "-").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}
