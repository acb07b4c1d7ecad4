internal import Commands
internal import Door
internal import HTTPClient
internal import HTTPTypes
internal import NIOCore

/// Reads the bodies of requests.
enum JSONBody {
    /// The bytes of memory that a parsed value takes for each byte of its text, as ``BodyMemory`` counts them. Text of
    /// nothing but brackets takes 22; but a flow of 16 MiB must find a share beside other requests.
    static let parsedWeight = 3

    /// The body of a request that has one of these media types.
    /// - Parameters:
    ///   - limit: bytes.
    ///   - weight: ``parsedWeight`` for a body that is parsed as a whole, 1 for one that is parsed line by line.
    /// - Throws: 415 for another type, and for a content coding; 413 for a longer body; 503 where the bodies of all
    ///   requests take too much memory.
    static func bytes(
        _ request: DoorRequest, types: [String], limit: Int, weight: Int = JSONBody.parsedWeight
    ) async throws -> [UInt8] {
        guard let type = UploadMediaType.read(request.fields), types.contains(type) else {
            throw otherType(than: types)
        }
        // JSON between systems is UTF-8 (RFC 8259, section 8.1), whatever the parameter says of a default.
        if let charset = UploadMediaType.charset(request.fields), charset != "utf-8" {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "The charset of the body is “\(charset.excerpt)”; send it in UTF-8.")
        }
        try ContentCoding.check(request.fields)
        let body = try await request.collectBody(limit: limit, weight: weight)
        return Array(body.readableBytesView)
    }

    private static func otherType(than types: [String]) -> Problem {
        Problem(
            .unsupportedMediaType, "unsupported-media-type",
            "The resource takes \(types.joined(separator: " or ")); send the body with that Content-Type.")
    }

    /// The members of an object with these names. A request without a body and without a type has none.
    /// - Throws: 400 for another JSON value, and for an unknown member; 415 for a body without a type.
    static func members(_ request: DoorRequest, _ known: [String]) async throws -> JSONValue {
        if request.fields[.contentType] == nil {
            guard try await isEmpty(request) else { throw otherType(than: ["application/json"]) }
            return .object([])
        }
        let bytes = try await bytes(request, types: ["application/json"], limit: 64 << 10)
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: bytes) } catch {
            throw Problem(.badRequest, "invalid-json", "The text is not valid JSON: \(error).")
        }
        guard let members = value.members else {
            throw problem("The body is an object, not \(value.kind).")
        }
        if let other = members.first(where: { !known.contains($0.name) }) {
            let names = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
            throw problem("The resource takes no member “\(other.name.excerpt)”; \(names).")
        }
        return .object(members.map { .init($0.name, $0.value.integral) })
    }

    private static func isEmpty(_ request: DoorRequest) async throws -> Bool {
        if let length = request.fields[.contentLength] { return length.allSatisfy { $0 == "0" } }
        for try await part in request.body where part.readableBytes > 0 { return false }
        return true
    }

    static func problem(_ detail: String) -> Problem { Problem(.badRequest, "invalid-body", detail) }
}

/// Responses with JSON.
enum JSONReply {
    static func response(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json", fields: HTTPFields = [:]
    ) -> Response {
        var headers = fields
        headers[.contentType] = type
        return Response(status: status, headers: headers, body: Response.Body(byteBuffer: ByteBuffer(bytes: bytes)))
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
