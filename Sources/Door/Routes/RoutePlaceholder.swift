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
