internal import Commands
internal import HTTPClient
internal import Uploads

/// The meaning of the answer of the upload hook. Pure.
///
/// | answer | meaning |
/// |---|---|
/// | 2xx without a body | the upload is created as the client has stated it |
/// | 2xx with an object of JSON | the same; `name`, `metadata` (texts by key) and `uniqueKey` replace what they name |
/// | 408, 429 | the site cannot answer now |
/// | other 4xx | the upload is refused, with the `detail` of a problem document (RFC 9457) |
/// | any other; a body that is not whole, is too long, or has other members | the site cannot answer now |
enum UploadHookAnswer: Equatable {
    case admitted(UploadDecision)
    /// The sentence is for the client.
    case refused(String)
    /// The clause is for the log.
    case unusable(String)

    /// Bytes of a body.
    static let maxSize = 64 << 10
    /// Characters of a `detail`.
    private static let maxDetail = 300

    /// - Parameters:
    ///   - status: of the final response.
    ///   - body: nil where it is longer than ``maxSize``, or was cut.
    init(status: Int, body: [UInt8]?) {
        switch status {
        case 200..<300:
            guard let body else {
                self = .unusable(
                    "has answered \(status) with a body that was cut, or has more than \(Self.maxSize) bytes")
                return
            }
            do throws(Refusal) { self = .admitted(try Self.decision(body)) } catch {
                self = .unusable("has answered \(status), and \(error.clause)")
            }
        case 300..<400: self = .unusable("has answered \(status); redirects are not followed")
        case 408, 429: self = .unusable("has answered \(status)")
        case 400..<500: self = .refused(Self.detail(body))
        default: self = .unusable("has answered \(status)")
        }
    }

    private static func detail(_ body: [UInt8]?) -> String {
        let stated = body.flatMap { try? JSONValue(parsing: $0) }?["detail"]?.string
        let line = stated.map { SingleLine.text($0, limit: maxDetail) } ?? ""
        return line.isEmpty ? "The site does not take this upload." : line
    }

    private struct Refusal: Error {
        var clause: String
    }

    private static func decision(_ body: [UInt8]) throws(Refusal) -> UploadDecision {
        var decision = UploadDecision()
        guard body.contains(where: { !" \t\r\n".utf8.contains($0) }) else { return decision }
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: body) } catch {
            throw Refusal(clause: "its body is not valid JSON: \(error)")
        }
        guard let members = value.members else { throw Refusal(clause: "its body is not an object of JSON") }
        for member in members where member.value != .null {
            switch member.name {
            case "name": decision.fileName = try text(member.value, "name")
            case "uniqueKey": decision.uniqueKey = try text(member.value, "uniqueKey")
            case "metadata": decision.metadata = try metadata(member.value)
            default:
                throw Refusal(
                    clause: "it may set name, metadata and uniqueKey, not “\(member.name.excerpt)”")
            }
        }
        return decision
    }

    private static func metadata(_ value: JSONValue) throws(Refusal) -> [String: String] {
        guard let members = value.members, members.count <= TusMetadata.maxKeys else {
            throw Refusal(clause: "“metadata” is not an object of at most \(TusMetadata.maxKeys) texts")
        }
        var metadata: [String: String] = [:]
        for member in members {
            guard let text = member.value.string, ClientText.refusal(member.name) == nil,
                ClientText.refusal(text) == nil
            else {
                throw Refusal(clause: "“metadata.\(member.name.excerpt)” is not a text without control characters")
            }
            metadata[member.name] = text
        }
        return metadata
    }

    private static func text(_ value: JSONValue, _ name: String) throws(Refusal) -> String {
        guard let text = value.string, !text.isEmpty, ClientText.refusal(text) == nil else {
            throw Refusal(clause: "“\(name)” is not a text without control characters")
        }
        return text
    }
}
