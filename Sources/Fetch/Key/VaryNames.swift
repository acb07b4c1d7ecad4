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
