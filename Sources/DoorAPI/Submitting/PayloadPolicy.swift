internal import Commands

/// The members that the payload of a built-in operation may have over HTTP. Types of other programs are checked by their
/// programs.
struct PayloadPolicy: Sendable {
    /// The member with the URL that the command talks to.
    var url: String?
    /// The member with the path of a file that is sent.
    var source: String?
    /// Members that write a file, delete one, or state facts that only this machine knows.
    var refused: [String] = []
    /// Members that may have only this value.
    var fixed: [JSONValue.Member] = []
    /// Members whose objects may have only these members.
    var limited: [String: [String]] = [:]

    /// Members that are numbers up to this one.
    var maxima: [String: Int64] = [:]

    /// Members that are set where the client has left them out.
    var added: [JSONValue.Member] { fixed.filter { $0.value != .bool(false) } }

    /// The worker checks addresses and paths again, see ``Confinement``.
    private static let confined = JSONValue.Member("confined", true)

    /// Milliseconds. A noop of the command line may wait for a day; one of a client would hold a slot of a worker, which
    /// no destination and no rate limit governs.
    static let maxNoop: Int64 = 60_000

    static let rules: [String: PayloadPolicy] = [
        CommandType.noop: PayloadPolicy(maxima: ["milliseconds": maxNoop]),
        CommandType.request: PayloadPolicy(
            url: "url", source: "bodyFile", refused: ["saveTo", "source"],
            // A redirect leads to an address that no rule has seen.
            fixed: [.init("redirects", 0), confined]),
        CommandType.webhook: PayloadPolicy(url: "url", fixed: [confined]),
        CommandType.upload: PayloadPolicy(
            url: "to", source: "file", refused: ["source"], fixed: [.init("removeSource", false), confined]),
        CommandType.exec: PayloadPolicy(
            refused: ["stdinFile", "directory"],
            limited: ["stdout": ["keep", "limit"], "stderr": ["keep", "limit"]]),
    ]

    /// - Returns: a sentence without a full stop; nil where the member is permitted.
    func objection(to member: JSONValue.Member) -> String? {
        if refused.contains(member.name), member.value != .null {
            return "a payload has no “\(member.name)”, which names a file of the server; leave it out"
        }
        if let value = fixed.first(where: { $0.name == member.name })?.value, member.value != value {
            return "“\(member.name)” can only be \(value.text); leave it out"
        }
        if let max = maxima[member.name] {
            switch member.value {
            case .integer(...max): break
            // A result could be any number.
            case .integer, .number, .decimal, .object:
                return "“\(member.name)” is a number up to \(max); submit a longer command on the machine of the door"
            default: break
            }
        }
        guard let known = limited[member.name], member.value != .null else { return nil }
        guard let members = member.value.members, members.allSatisfy({ known.contains($0.name) }) else {
            return "“\(member.name)” has no members but \(known.joined(separator: " and ")); leave out the others"
        }
        return nil
    }
}
