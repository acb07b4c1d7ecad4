internal import Door
internal import HTTPTypes
internal import NIOCore

/// The fields of a form that a browser has sent.
struct FormFields: Sendable {
    private let query: DoorQuery

    private static let maxSize = 64 << 10
    /// Of a client without a token, as at the login: all connections together must leave memory to the others.
    private static let maxSizeOfStranger = 4 << 10

    /// - Throws: 415 for another content type, 413 for more than 64 KiB, or 4 KiB from a client without a token, 400 for
    ///   a body that is not a form.
    init(reading request: DoorRequest) async throws {
        let type = request.fields[.contentType] ?? ""
        guard type.prefix(while: { $0 != ";" }).lowercased() == "application/x-www-form-urlencoded" else {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type", "An action takes a form; use the button of its page.")
        }
        let limit = request.principal == nil ? Self.maxSizeOfStranger : Self.maxSize
        let body = try await request.collectBody(limit: limit)
        guard let text = String(validating: body.readableBytesView, as: UTF8.self) else {
            throw Problem(.badRequest, "invalid-form", "The form is not UTF-8; use the button of its page.")
        }
        query = try DoorQuery(parsing: text)
    }

    /// Nil for a field that is absent or empty.
    subscript(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The fields `f-…`, the filter of a list, without the prefix.
    var filter: DoorQuery {
        DoorQuery(query.items.filter { $0.name.hasPrefix("f-") }.map { (String($0.name.dropFirst(2)), $0.value) })
    }

    /// The values of a field that a form may have several times.
    func all(_ name: String) -> [String] { query.items.filter { $0.name == name }.map(\.value) }
}
