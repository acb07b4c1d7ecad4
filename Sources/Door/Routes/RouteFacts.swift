package import Commands
internal import HTTPClient
internal import Store

/// The facts of an upload that fill the templates of a route.
package struct RouteFacts: Sendable, Equatable {
    package var id: CommandID
    /// The name of the file, as the client has stated it.
    package var name: String?
    /// As the client has stated it.
    package var contentType: String?
    /// The values of `Upload-Metadata` that are text.
    package var metadata: [String: String] = [:]
    /// ``Principal/owner`` of the request that created the upload; nil where the door asks for none.
    package var token: String?
    /// The unique key that the site has set, in place of the route's own.
    package var uniqueKey: String?
    /// The path of the bytes; nil before the upload is complete.
    package var file: String?
    /// Bytes; nil before the upload is complete.
    package var size: Int64?
    /// SHA-256 of the bytes; nil where it was not computed.
    package var sha256: [UInt8]?

    package init(id: CommandID) { self.id = id }

    /// The facts that are known at creation.
    package init(id: CommandID, _ facts: UploadFacts) {
        self.id = id
        name = facts.fileName
        contentType = facts.contentType
        metadata = facts.siteMetadata ?? Self.metadata(facts.metadata ?? "")
        token = facts.token
        uniqueKey = facts.uniqueKey
    }

    /// The facts of a complete upload.
    /// - Parameter file: the path of its bytes.
    package init(_ upload: Upload, file: String, sha256: [UInt8]?) {
        self.init(id: upload.id, upload.facts)
        self.file = file
        size = upload.offset
        self.sha256 = sha256
    }

    /// Placeholders for the facts that are not known before the upload is complete: a check at creation uses them.
    func sampled(length: Int64?) -> RouteFacts {
        var facts = self
        facts.file = file ?? "/spool/\(id)"
        facts.size = size ?? length ?? 0
        facts.sha256 = sha256 ?? [UInt8](repeating: 0, count: 32)
        return facts
    }

    /// The text that takes the place of a placeholder.
    /// - Throws: where the client has not stated it.
    func value(of placeholder: RoutePlaceholder) throws(RouteTemplateError) -> String {
        let value: String? =
            switch placeholder {
            case .file: file
            case .name: name
            case .path: path ?? name
            // RFC 9110, section 8.3.
            case .contentType: contentType ?? "application/octet-stream"
            case .size: size.map { "\($0)" }
            case .id: id.description
            case .sha256: sha256.map { Hexadecimal.text($0) }
            // The door asks for no token.
            case .token: token ?? ""
            case .metadata(let key): metadata.first { $0.key.hasSameBytes(as: key) }?.value
            }
        guard let value else {
            let remedy =
                switch placeholder {
                case .name, .path: "state the name of the file"
                case .metadata(let key): "send “\(key.excerpt)” in Upload-Metadata"
                default: "the door does not know it"
                }
            throw RouteTemplateError(problem: "\(placeholder.text) is missing; \(remedy)")
        }
        return value
    }

    /// Uppy sends “null” for a file that is not in a folder.
    private var path: String? {
        metadata["relativePath"].flatMap { $0.isEmpty || $0 == "null" ? nil : $0 }
    }

    /// Reads `Upload-Metadata` of tus: pairs of a key and base64, separated by commas. A value that is not text is left
    /// out. Source: tus 1.0.0, “Upload-Metadata”.
    static func metadata(_ text: String) -> [String: String] {
        var values: [String: String] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: " ", omittingEmptySubsequences: true)
            guard (1...2).contains(parts.count) else { continue }
            let bytes = parts.count == 2 ? Base64.decode(parts[1].utf8) : []
            guard let bytes, let value = String(validating: bytes, as: UTF8.self) else { continue }
            values[String(parts[0])] = value
        }
        return values
    }
}

/// A fact of an upload that a template of a route names in braces, as in `{name}`.
enum RoutePlaceholder: Sendable, Hashable {
    /// The path of the bytes on this machine.
    case file
    case name, contentType, size, id, sha256
    /// The path of the file in the folder that the client sends, `relativePath` of its metadata; the name without one.
    case path
    /// The public id of the first token with the name of the token that created the upload.
    case token
    /// A value of the client's metadata.
    case metadata(String)

    /// - Parameter text: without the braces.
    init?(_ text: String) {
        switch text {
        case "file": self = .file
        case "name": self = .name
        case "contentType": self = .contentType
        case "path": self = .path
        case "size": self = .size
        case "id": self = .id
        case "sha256": self = .sha256
        case "token": self = .token
        default:
            let prefix = "metadata."
            guard text.utf8.starts(with: prefix.utf8), text.utf8.count > prefix.utf8.count else { return nil }
            self = .metadata(String(text.dropFirst(prefix.count)))
        }
    }

    /// With the braces.
    var text: String {
        switch self {
        case .file: "{file}"
        case .name: "{name}"
        case .contentType: "{contentType}"
        case .path: "{path}"
        case .size: "{size}"
        case .id: "{id}"
        case .sha256: "{sha256}"
        case .token: "{token}"
        case .metadata(let key): "{metadata.\(key)}"
        }
    }

    /// For messages.
    static let known = "{file}, {name}, {path}, {contentType}, {size}, {id}, {sha256}, {token} and {metadata.KEY}"

    /// Whether the value is text that the client chooses.
    var isClientText: Bool {
        switch self {
        case .name, .path, .contentType, .metadata: true
        case .file, .size, .id, .sha256, .token: false
        }
    }

    /// Whether the value may be a part of a key. The command of an upload is in the shard of its key, and the shard is a
    /// part of the id, which the upload gets before its first byte.
    var isKeyPart: Bool {
        switch self {
        case .name, .path, .contentType, .metadata, .token: true
        case .file, .size, .id, .sha256: false
        }
    }
}
