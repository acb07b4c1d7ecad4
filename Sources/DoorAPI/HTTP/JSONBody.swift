internal import Commands
internal import Door
internal import HTTPTypes
internal import NIOCore

/// Reads the bodies of requests.
enum JSONBody {
    /// The body of a request that has one of these media types.
    /// - Parameter limit: bytes.
    /// - Throws: 415 for another type, 413 for a longer body.
    static func bytes(_ request: DoorRequest, types: [String], limit: Int) async throws -> [UInt8] {
        guard let type = MediaType.read(request.fields), types.contains(type) else {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "The resource takes \(types.joined(separator: " or ")); send the body with that Content-Type.")
        }
        let body = try await request.collectBody(limit: limit)
        return Array(body.readableBytesView)
    }

    /// The members of an object with these names. A request without a body and without a type has none.
    /// - Throws: 400 for another JSON value, and for an unknown member.
    static func members(_ request: DoorRequest, _ known: [String]) async throws -> JSONValue {
        if request.fields[.contentType] == nil {
            let body = try await request.collectBody(limit: 0)
            return body.readableBytes == 0 ? .object([]) : .null
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
        return value
    }

    static func problem(_ detail: String) -> Problem { Problem(.badRequest, "invalid-body", detail) }
}
