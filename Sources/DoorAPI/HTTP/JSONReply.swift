internal import Commands
internal import Door
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Responses with JSON.
enum JSONReply {
    static func response(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json", fields: HTTPFields = [:]
    ) -> Response {
        var headers = fields
        headers[.contentType] = type
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static func response(
        _ value: JSONValue, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> Response {
        response(value.bytes, status: status, fields: fields)
    }

    /// `Link` to the next page: the URL of the request with another cursor (RFC 8288).
    static func next(_ cursor: String?, of request: DoorRequest) -> HTTPFields {
        guard let cursor else { return [:] }
        let items = request.query.items.filter { $0.name != "cursor" } + [(name: "cursor", value: cursor)]
        let query = items.map { "\(escaped($0.name))=\(escaped($0.value))" }.joined(separator: "&")
        let path = request.path.map(escaped).joined(separator: "/")
        return [.link: "<\(request.baseURL)/\(path)?\(query)>; rel=\"next\""]
    }

    static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isUnreserved = Character(Unicode.Scalar(byte)).isLetter && byte < 0x80
            return isUnreserved || "0123456789-._~:".utf8.contains(byte)
                ? String(Unicode.Scalar(byte)) : PercentEncoding.encoded(byte)
        }.joined()
    }
}

extension HTTPField.Name {
    static let link = HTTPField.Name("Link")!
    static let prefer = HTTPField.Name("Prefer")!
    static let preferenceApplied = HTTPField.Name("Preference-Applied")!
}
