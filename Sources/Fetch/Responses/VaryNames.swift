internal import Commands
internal import HTTPClient
internal import Transfers

/// The request headers that `Vary` nominates (RFC 9110, section 12.5.5).
enum VaryNames: Sendable, Equatable {
    /// In lower case, sorted, each once.
    case names([String])
    /// `*`: the response depends on more than the request's headers, so that it matches no other request.
    case any

    /// The maximum names. A response that nominates more is treated as `*`.
    static let maxNames = 64

    /// - Parameter headers: of a response. A member that is not a header name counts as `*`.
    init(_ headers: HeaderFields) {
        var names: Set<String> = []
        for value in headers.values("vary") {
            for member in value.split(separator: ",").map(\.trimmed) where !member.isEmpty {
                guard member.utf8.allSatisfy({ $0.isLetter || $0.isDigit || "!#$%&'+-.^_`|~".utf8.contains($0) }),
                    names.count < Self.maxNames
                else {
                    self = .any
                    return
                }
                names.insert(member.lowercased())
            }
        }
        self = .names(names.sorted())
    }

    /// The column `vary` of a stored response: JSON of the nominated headers of its request, as
    /// `{"accept-language":"en","cookie":null}`, and `"*"` for `*`. Two requests match where their texts are
    /// the same.
    ///
    /// Lines of one name are joined. Where a field is known to be a list of names without case, its case and
    /// its spaces do not matter (RFC 9111, section 4.1). The value of a secret header is not stored: the
    /// partition already separates requests by it.
    func text(for request: HeaderFields) -> String {
        var writer = JSONWriter(capacity: 64)
        switch self {
        case .any: writer.value("*")
        case .names(let names):
            writer.value(
                .object(
                    names.map { name in
                        let value = Self.value(of: name, in: request)
                        return JSONValue.Member(name, value.map { .string($0) } ?? .null)
                    }))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func value(of name: String, in request: HeaderFields) -> String? {
        let values = request.values(name).map(\.trimmed)
        guard !values.isEmpty else { return nil }
        guard !HTTPHeaderRedaction.isSecret(name) else { return HTTPHeaderRedaction.replacement }
        let text = values.joined(separator: ", ")
        guard ["accept-language", "accept-encoding", "accept-charset"].contains(name) else { return text }
        return text.split(separator: ",").map { $0.trimmed.lowercased() }.joined(separator: ",")
    }
}

/// Chooses the stored response that fits a request (RFC 9111, section 4.1).
enum VariantChoice {
    /// Every nominated header must match. Of several that match, one with `Vary` goes before one without, as
    /// some servers leave it out of their default response; then the one that its origin made last. A stale
    /// variant never hides another one. `Vary: *` matches nothing: such a response is chosen only where no
    /// other fits, to be validated or to be shown offline.
    /// - Parameter variants: the responses of one URL and partition, in any order.
    static func select(_ variants: [StoredResponse], for request: HeaderFields) -> StoredResponse? {
        let varying = variants.filter { $0.flags.contains(.variesByAnything) }
        let matching = variants.filter { variant in
            !variant.flags.contains(.variesByAnything)
                && VaryNames(variant.headers).text(for: request).hasSameBytes(as: variant.key.vary)
        }
        return (matching.isEmpty ? varying : matching).max { rank($0) < rank($1) }
    }

    private static func rank(_ response: StoredResponse) -> (Int, Timestamp, Timestamp) {
        (VaryNames(response.headers) == .names([]) ? 0 : 1, response.madeAt, response.validatedAt)
    }
}
