internal import Commands
internal import Glibc
internal import Work

/// The payload of an `upload`, checked.
///
/// ```
/// {"file": "/data/a.mp4",                     the source: a regular file; made absolute at submit
///  "to": "https://media.example.com/in/",     a trailing slash appends the file's name at submit
///  "method": "PUT",                           or POST
///  "headers": {"X-Tag": "a"},                 none by default
///  "protocol": "put",                         the whole file in one request
///  "removeSource": false,                     delete the file after success
///  "source": {"size": …, "mtime": …, "inode": …, "device": …}}    recorded at submit; mtime in nanoseconds
/// ```
struct UploadPayload: Sendable, Equatable {
    enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
    }

    struct Header: Sendable, Equatable {
        var name: String
        var value: String
    }

    var file: String
    var to: UploadURL
    var method: Method = .put
    var headers: [Header] = []
    var removeSource = false
    var source: SourceIdentity?

    /// Reads and checks the payload without touching the file system.
    init(_ value: JSONValue) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "the payload of an upload must be an object, not \(value.kind)")
        }
        var file: String?
        var to: UploadURL?
        for member in members {
            switch member.name {
            case "file": file = try Self.text(member)
            case "to": to = try UploadURL(try Self.text(member))
            case "method":
                let name = try Self.text(member)
                guard let method = Method(rawValue: name.uppercased()) else {
                    throw PayloadError(.data, "“method” is “\(name)”; a file is uploaded by PUT or POST")
                }
                self.method = method
            case "headers": headers = try Self.headers(member.value)
            case "protocol":
                let name = try Self.text(member)
                guard name == "put" else {
                    throw PayloadError(.data, "“protocol” is “\(name)”; this version knows only “put” (one request)")
                }
            case "removeSource":
                guard let remove = member.value.bool else {
                    throw PayloadError(.data, "“removeSource” must be true or false, not \(member.value.kind)")
                }
                removeSource = remove
            case "source": source = try SourceIdentity(member.value)
            default:
                throw PayloadError(
                    .data,
                    "unknown key “\(member.name)” in the payload of an upload; it has “file”, “to”, “method”, “headers”, "
                        + "“protocol” and “removeSource”")
            }
        }
        guard let file else { throw PayloadError(.data, "“file” is missing in the payload of an upload") }
        guard let to else { throw PayloadError(.data, "“to” is missing in the payload of an upload") }
        guard !file.isEmpty else { throw PayloadError(.data, "“file” is empty") }
        guard !file.utf8.contains(0) else { throw PayloadError(.data, "“file” has a zero byte in it") }
        self.file = file
        self.to = to
        if to.scheme == .file {
            guard method == .put else { throw PayloadError(.data, "“method” must be PUT for a file: destination") }
            guard headers.isEmpty else { throw PayloadError(.data, "“headers” mean nothing to a file: destination") }
        }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("file", .string(file)), .init("to", .string(to.text)), .init("method", .string(method.rawValue)),
        ]
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        members.append(.init("protocol", "put"))
        members.append(.init("removeSource", .bool(removeSource)))
        if let source { members.append(.init("source", source.json)) }
        return .object(members)
    }

    /// May it be executed again after an ambiguous end? PUT replaces what is there; POST may add.
    var isIdempotent: Bool { method == .put }

    /// The name of the source within its directory.
    var fileName: Substring { file.split(separator: "/").last ?? "" }

    /// Makes the path absolute, from the working directory of this process.
    mutating func resolveFile() throws(PayloadError) {
        guard !file.hasPrefix("/") else { return }
        guard let directory = getcwd(nil, 0) else {
            throw PayloadError(.source, "\(file) cannot be found: the working directory is gone")
        }
        defer { free(directory) }
        let path = String(cString: directory)
        file = (path.hasSuffix("/") ? path : path + "/") + file
    }

    /// Appends the file's name to a URL that ends in a slash.
    mutating func resolveDirectory() { if to.isDirectory { to = to.appending(name: fileName) } }

    private static func text(_ member: JSONValue.Member) throws(PayloadError) -> String {
        guard let text = member.value.string else {
            throw PayloadError(.data, "“\(member.name)” must be a string, not \(member.value.kind)")
        }
        return text
    }

    private static func headers(_ value: JSONValue) throws(PayloadError) -> [Header] {
        guard let members = value.members else {
            throw PayloadError(.data, "“headers” must be an object, not \(value.kind)")
        }
        var headers: [Header] = []
        for member in members {
            guard let text = member.value.string else {
                throw PayloadError(
                    .data, "the header “\(member.name)” in “headers” must be a string, not \(member.value.kind)")
            }
            if let objection = HTTPHeaderRules.objection(to: member.name, value: text) {
                throw PayloadError(.data, objection)
            }
            guard !headers.contains(where: { $0.name.lowercased() == member.name.lowercased() }) else {
                throw PayloadError(.data, "the header “\(member.name)” is there twice; join its values with a comma")
            }
            headers.append(Header(name: member.name, value: text))
        }
        return headers
    }
}
