package import Commands
internal import HTTPClient
package import Operations
internal import S3
internal import Transfers

/// The payload of an `upload`, checked.
///
/// ```
/// {"file": "/data/a.mp4",                     the source: a regular file; made absolute at submit
///  "to": "https://media.example.com/in/",     a trailing slash appends the file's name at submit
///  "method": "PUT",                           or POST; only with the protocol put
///  "headers": {"X-Tag": "a"},                 none by default
///  "protocol": "put",                         the whole file in one request; "tus" or "contentRange": can be resumed
///  "name": "a.mp4",                           the name at the destination; the name of the file by default
///  "path": "trip/day 1/a.mp4",                instead: the path below a URL that ends in a slash, of a file of a folder.
///                                             tus gets it as relativePath; folders of a file: URL are made
///  "mode": "644",                             permissions, octal, of a copy to a file: URL that replaces no file; the
///                                             source's by default. A replaced file keeps its own
///  "removeSource": false,                     delete the file after success, once the destination has confirmed
///                                             the delivery (``DeliveryCheck``)
///  "confined": false,                         whether ``Confinement`` holds
///  "source": {"size": …, "mtime": …, "inode": …, "device": …}}    recorded at submit; mtime in nanoseconds
/// ```
///
/// Without `protocol` the worker chooses one when the upload begins: `contentRange` or `tus` if sluice.yaml
/// says so for the destination (``ResumeRules``), else `tus` if the URL reports tus in its answer to OPTIONS
/// (``TusSupportCache``), else `put`. The protocol is `put` without a query for a file below 1 MiB, if a
/// method is given, and for a `file:` destination, which can always be resumed. A directory URL gets the name
/// of the file once the protocol is known. tus uploads go to the directory URL itself.
struct UploadPayload: Sendable, Equatable {
    enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
    }

    enum TransferProtocol: String, Sendable, CaseIterable {
        /// The whole file in one request; or a copy, to a `file:` URL.
        case put
        /// ``TusDialect``
        case tus
        /// ``ContentRangeRequests``
        case contentRange
    }

    /// Files below this size are sent without a query: sending one again costs no more than the query.
    static let smallFile: Int64 = 1 << 20

    var file: String
    var to: ResourceURL
    var method: Method = .put
    var headers: [HTTPField] = []
    /// Nil: not chosen yet.
    var transferProtocol: TransferProtocol?
    var name: String?
    var path: String?
    var mode: UInt32?
    var removeSource = false
    var isConfined = false
    var source: SourceIdentity?

    /// Reads and checks the payload without touching the file system.
    init(_ value: JSONValue) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "the payload of an upload must be an object, not \(value.kind)")
        }
        var file: String?
        var to: ResourceURL?
        var methodIsNamed = false
        for member in members {
            switch member.name {
            case "file": file = try Self.text(member)
            case "to": to = try ResourceURL(try Self.text(member))
            case "method":
                let name = try Self.text(member)
                guard let method = Method(rawValue: name.uppercased()) else {
                    throw PayloadError(.data, "“method” is “\(name)”; a file is uploaded by PUT or POST")
                }
                self.method = method
                methodIsNamed = true
            case "headers": headers = try PayloadReader.headers(member)
            case "protocol":
                let name = try Self.text(member)
                guard let known = TransferProtocol(rawValue: name) else {
                    throw PayloadError(
                        .data,
                        "“protocol” is “\(name)”; it is “put” (one request), “tus” or “contentRange” (both can be "
                            + "resumed), or absent: then the worker chooses")
                }
                transferProtocol = known
            case "name":
                let text = try Self.text(member)
                guard !text.isEmpty, text != ".", text != "..", !text.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
                else { throw PayloadError(.data, "“name” is the name of a file, without a slash, not “\(text)”") }
                name = text
            case "path":
                let text = try Self.text(member)
                guard Self.isPath(text) else {
                    throw PayloadError(
                        .data,
                        "“path” is “\(text)”; it has names with a slash between two of them, and neither . nor .. is one"
                    )
                }
                path = text
            case "mode":
                let text = try Self.text(member)
                guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit),
                    let bits = UInt32(text, radix: 8),
                    bits <= 0o777
                else { throw PayloadError(.data, "“mode” is “\(text)”; it is octal, from 000 to 777") }
                mode = bits
            case "removeSource":
                guard let remove = member.value.bool else {
                    throw PayloadError(.data, "“removeSource” must be true or false, not \(member.value.kind)")
                }
                removeSource = remove
            case "confined":
                guard let isConfined = member.value.bool else {
                    throw PayloadError(.data, "“confined” must be true or false, not \(member.value.kind)")
                }
                self.isConfined = isConfined
            case "source": source = try SourceIdentity(member.value)
            default:
                throw PayloadError(
                    .data,
                    "unknown key “\(member.name)” in the payload of an upload; it has “file”, “to”, “method”, “headers”, "
                        + "“protocol”, “name”, “path”, “mode”, “removeSource” and “confined”")
            }
        }
        guard let file else { throw PayloadError(.data, "“file” is missing in the payload of an upload") }
        guard let to else { throw PayloadError(.data, "“to” is missing in the payload of an upload") }
        guard !file.isEmpty else { throw PayloadError(.data, "“file” is empty") }
        guard !file.utf8.contains(0) else { throw PayloadError(.data, "“file” contains a zero byte") }
        guard mode == nil || to.scheme == .file else {
            throw PayloadError(.data, "“mode” is only valid for a file: destination")
        }
        guard name == nil || path == nil else {
            throw PayloadError(.data, "“path” has the name at the destination: leave out “name”")
        }
        self.file = file
        self.to = to
        if methodIsNamed, transferProtocol == nil { transferProtocol = .put }
        if method != .put, let other = transferProtocol, other != .put {
            throw PayloadError(.data, "“method” must be PUT or absent with the protocol “\(other.rawValue)”")
        }
        if to.scheme == .file {
            guard transferProtocol == nil || transferProtocol == .put else {
                throw PayloadError(.data, "“protocol” must be put or absent for a file: destination")
            }
            transferProtocol = .put
            guard method == .put else { throw PayloadError(.data, "“method” must be PUT for a file: destination") }
            guard headers.isEmpty else { throw PayloadError(.data, "“headers” are not valid for a file: destination") }
            guard !isConfined else {
                throw PayloadError(.data, "a confined upload goes to an http or https URL, not to a file: destination")
            }
        }
    }

    var json: JSONValue { json(source: source?.json) }

    /// The part of the payload by which two uploads under one unique key are equal.
    var identity: JSONValue { json(source: source?.content) }

    private func json(source: JSONValue?) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("file", .string(file)), .init("to", .string(to.text)),
        ]
        if transferProtocol == .put { members.append(.init("method", .string(method.rawValue))) }
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        if let transferProtocol { members.append(.init("protocol", .string(transferProtocol.rawValue))) }
        if let name { members.append(.init("name", .string(name))) }
        if let path { members.append(.init("path", .string(path))) }
        if let mode { members.append(.init("mode", .string(Self.text(ofMode: mode)))) }
        members.append(.init("removeSource", .bool(removeSource)))
        if isConfined { members.append(.init("confined", true)) }
        if let source { members.append(.init("source", source)) }
        return .object(members)
    }

    /// Whether the upload may be executed again after an ambiguous end. PUT replaces the target; POST may add
    /// another.
    var isIdempotent: Bool { method == .put }

    /// The name at the destination.
    var fileName: Substring { name.map { $0[...] } ?? (path ?? file).lastPathName }

    /// The URL of the file where it is not a tus endpoint: one that ends in a slash gets the path or the name appended.
    var fileURL: ResourceURL {
        guard to.isDirectory else { return to }
        return path.map { to.appending(path: $0) } ?? to.appending(name: fileName)
    }

    /// Chooses `put` for a file that is too small for a query.
    mutating func chooseProtocol(size: Int64) {
        if transferProtocol == nil, size < Self.smallFile { transferProtocol = .put }
    }

    /// Makes the path absolute, relative to the working directory of this process.
    mutating func resolveFile() throws(PayloadError) { file = try file.absolutePath() }

    private static func text(ofMode mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(3 - digits.utf8.count, 0)) + digits
    }

    /// Appends the name of the file to a URL that ends in a slash, unless the URL is a tus endpoint.
    mutating func resolveDirectory() {
        guard let transferProtocol, transferProtocol != .tus else { return }
        to = fileURL
    }

    private static func isPath(_ text: String) -> Bool {
        text.utf8.split(separator: .slash, omittingEmptySubsequences: false).allSatisfy { name in
            !name.isEmpty && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8) && !name.contains(0)
        }
    }

    private static func text(_ member: JSONValue.Member) throws(PayloadError) -> String {
        guard let text = member.value.string else {
            throw PayloadError(.data, "“\(member.name)” must be a string, not \(member.value.kind)")
        }
        return text
    }
}

/// The targets of the uploads of one submission.
package enum UploadTargets {
    /// Where a payload of `upload` or `s3` sends its file, for people; nil where the server chooses the URL (tus).
    /// - Parameter type: `upload` or `s3`.
    /// - Throws: ``PayloadError`` for a payload that the type would refuse.
    package static func target(of payload: JSONValue, _ type: String) throws(PayloadError) -> String? {
        guard type == CommandType.s3 else {
            let upload = try UploadPayload(payload)
            return upload.transferProtocol == .tus ? nil : upload.fileURL.displayText
        }
        var put = try S3Payload(payload)
        try put.resolveKey()
        return switch put.target {
        case .object(let endpoint, _, _, let bucket, let key): "s3://\(bucket)/\(key) at \(endpoint.text)"
        case .presigned(let presigned): presigned.url.displayText
        }
    }

    /// Finds the first upload that would replace the file of an earlier one, because both have the same URL.
    /// A URL that ends in a slash gets the name of the file first. Uploads with the protocol `tus` never
    /// collide, because the server creates a URL for each.
    /// - Parameters:
    ///   - payloads: the payloads of the uploads, in their order.
    ///   - type: of all of them, `upload` or `s3`.
    /// - Returns: the indices of both; nil where all URLs differ.
    /// - Throws: ``PayloadError`` for a payload that the type would refuse.
    package static func collision(
        in payloads: [JSONValue], _ type: String = CommandType.upload
    ) throws(PayloadError) -> (earlier: Int, later: Int, url: String)? {
        var indices: [[UInt8]: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            guard let target = try target(of: payload, type) else { continue }
            let url = type == CommandType.upload ? try UploadPayload(payload).fileURL.text : target
            // Two keys of S3 with different bytes may be equal strings.
            if let earlier = indices.updateValue(index, forKey: Array(url.utf8)) { return (earlier, index, target) }
        }
        return nil
    }
}
