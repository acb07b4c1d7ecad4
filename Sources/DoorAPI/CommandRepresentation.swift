internal import Commands
internal import Console
internal import Crypto
internal import Door
internal import HTTPClient
internal import HTTPTypes
internal import Queue

/// A command as the API shows it, with its entity tag.
struct CommandRepresentation: Sendable {
    let command: Command
    let body: [UInt8]
    let tag: CommandTag
    /// `seq` of the newest transition.
    let newest: Int64

    var status: CommandStatus { command.status }

    /// Members that only tokens with the scope read see.
    enum Hidden {
        case none, result, payloadAndResult
    }

    /// - Parameter hidden: members that are null. The entity tag is that of the whole representation.
    init(_ details: CommandDetails, shardCount: Int, hidden: Hidden = .none) {
        command = details.command
        newest = details.timeline.last?.seq ?? 0
        let whole = details.json.bytes
        tag = CommandTag(shard: command.id.shard(of: shardCount), seq: newest, body: whole)
        guard hidden != .none else {
            body = whole
            return
        }
        var visible = details
        visible.result = nil
        if hidden == .payloadAndResult { visible.payload = nil }
        body = visible.json.bytes
    }
}

/// The strong entity tag of a command: shard and number of its newest transition, and a digest of the representation.
/// The digest tells representations apart that differ without a transition, in progress or in the ends of parents.
struct CommandTag: Equatable {
    /// `3-1742`
    let version: String
    private let digest: String

    /// - Parameter body: the bytes of the representation.
    init(shard: Int, seq: Int64, body: [UInt8]) {
        version = "\(shard)-\(seq)"
        digest = Hexadecimal.text(SHA256.hash(data: body).prefix(4))
    }

    var text: String { "\"\(version)-\(digest)\"" }

    /// Whether a field `If-None-Match` names this representation, by the weak comparison (RFC 9110, section 13.1.2).
    func isNamed(by field: String?) -> Bool {
        guard let field else { return false }
        return Self.tags(field).contains { $0 == "*" || $0 == text || $0 == "W/\(text)" }
    }

    /// Whether fields `If-Match` admit a change: one names the newest transition, with or without the digest, or there are
    /// none.
    static func admits(_ fields: [String], version: String) -> Bool {
        fields.isEmpty
            || fields.flatMap(tags).contains { tag in
                guard tag != "*" else { return true }
                guard tag.count > 2, tag.first == "\"", tag.last == "\"" else { return false }
                return tag.dropFirst().dropLast().split(separator: "-").prefix(2).joined(separator: "-") == version
            }
    }

    private static func tags(_ field: String) -> [String] {
        field.split(separator: ",").map { part in
            String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        }
    }
}
