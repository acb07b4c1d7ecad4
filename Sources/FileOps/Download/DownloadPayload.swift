internal import Commands
internal import HTTPClient
internal import Operations
internal import S3
internal import Transfers

/// The payload of a `download`, checked.
///
/// ```
/// {"url": "https://media.example.com/a.mp4",  the source; http, https or file
///  "s3": {…},                           instead of “url”: an object, see ``S3Source``
///  "to": "/data/in/",                   a path or file: URL; with a trailing slash a directory, see “name”
///  "headers": {"X-Tag": "a"},           none by default
///  "name": null,                        in a directory: null: the last segment of “url”; "server": the name
///                                       in Content-Disposition, else that segment; other text: the name
///  "checksum": "sha256:<hex>",          of the whole file; sha512, sha1 or md5 too
///  "size": 1048576,                     bytes of the whole file
///  "overwrite": "replace",              "keep": success where the target exists; "fail": final failure; "rename":
///                                       a.1.mp4. With "name": "server", "replace" is as "fail"
///  "mode": null,                        permissions, octal, minus the umask; null: those of the replaced file
///  "newMode": "0644",                   permissions without “mode”, where no file is replaced
///  "keepTime": true,                    the file's time of modification is Last-Modified
///  "ifChanged": false,                  request only a version that the target does not have
///  "maxBytes": 0,                       0: no limit; a larger file is a final failure
///  "ranges": 1}                         requests at a time; only 1 is supported
/// ```
struct DownloadPayload: Sendable, Equatable {
    enum Name: Sendable, Equatable {
        case ofURL
        case ofServer
        case text(String)
    }

    /// For a target that exists.
    enum Overwrite: String, Sendable, CaseIterable {
        case replace, keep, fail, rename
    }

    static let defaultMode: UInt32 = 0o644

    var url: ResourceURL
    /// The source is an object of S3, whose URL is ``url``.
    var s3: S3Source?
    /// The path of the target, or of its directory with a slash at the end.
    var to: String
    var headers: [HTTPField] = []
    var name = Name.ofURL
    var checksum: Checksum?
    var size: Int64?
    var overwrite = Overwrite.replace
    /// Nil: a file that is replaced keeps its permissions, and another one gets ``newMode``.
    var mode: UInt32?
    var newMode = Self.defaultMode
    var keepTime = true
    var ifChanged = false
    /// 0: no limit.
    var maxBytes: Int64 = 0
    var ranges = 1

    private static let keys =
        "“url” or “s3”, “to”, “headers”, “name”, “checksum”, “size”, “overwrite”, “mode”, “newMode”, “keepTime”, “ifChanged”, "
        + "“maxBytes” and “ranges”"

    /// Reads and checks the payload without touching the file system.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a download", keys: Self.keys)
        let object: S3Source? = if let value = reader.take("s3") { try S3Source(value) } else { nil }
        let stated = try reader.text("url", isRequired: object == nil)
        let url = if let object { try object.url() } else { try ResourceURL(stated ?? "") }
        (self.url, s3) = (url, object)
        if let object, let stated, stated != url.text {
            throw PayloadError(.data, "“url” is not that of the object “\(object.address.key)”: leave it out")
        }
        to = try Self.path(try reader.text("to", isRequired: true) ?? "")
        headers = try Self.headers(&reader)
        if let value = reader.take("name") { name = try Self.name(value) }
        if let text = try reader.text("checksum") { checksum = try Checksum(text) }
        size = try reader.integer("size", in: 0...Int64.max)
        if let text = try reader.text("overwrite") { overwrite = try Self.overwrite(text) }
        if let text = try reader.text("mode") { mode = try Self.mode(text) }
        if let text = try reader.text("newMode") { newMode = try Self.mode(text) }
        keepTime = try reader.flag("keepTime") ?? keepTime
        ifChanged = try reader.flag("ifChanged") ?? ifChanged
        maxBytes = try reader.integer("maxBytes", in: 0...Int64.max) ?? maxBytes
        ranges = Int(try reader.integer("ranges", in: 1...1) ?? 1)
        try reader.finish()
        try checkCombinations()
        guard s3 != nil else { return }
        for header in headers {
            if let objection = S3Source.objection(to: header) { throw PayloadError(.data, objection) }
        }
    }

    private func checkCombinations() throws(PayloadError) {
        guard url.scheme != .file || headers.isEmpty else {
            throw PayloadError(.data, "“headers” are not valid for a file: URL")
        }
        guard url.scheme != .file || !url.isDirectory else {
            throw PayloadError(.usage, "\(url.displayText) is a directory; get the files in it one by one")
        }
        if !isDirectory {
            guard name == .ofURL else {
                throw PayloadError(.data, "“name” is only valid where “to” is a directory and ends with a slash")
            }
            let last = to.lastPathName
            guard !last.elementsEqual("."), !last.elementsEqual("..") else {
                throw PayloadError(
                    .data,
                    "“to” is “\(to.prefix(300))”, which does not name a file; end it with a slash for a directory")
            }
        }
        if let size, maxBytes > 0, size > maxBytes {
            throw PayloadError(.data, "“size” is \(size), which is more than “maxBytes”, \(maxBytes)")
        }
        guard ifChanged else { return }
        guard overwrite == .replace else {
            throw PayloadError(.data, "“ifChanged” needs “overwrite” to be “replace”, not “\(overwrite.rawValue)”")
        }
        guard name != .ofServer else {
            throw PayloadError(
                .data, "“ifChanged” needs the name of the target before the answer; “name” must not be “server”")
        }
    }

    /// Whether ``to`` is a directory, so that ``name`` decides the name.
    var isDirectory: Bool { to.endsWithBytes(of: "/") }

    /// Whether the server chooses the name of the file.
    var isNamedByServer: Bool { isDirectory && name == .ofServer }

    /// The path of the target.
    /// - Parameter field: the field `Content-Disposition` of the answer; nil without one.
    func target(contentDisposition field: String?) -> String {
        guard isDirectory else { return to }
        switch name {
        case .text(let text): return to + text
        case .ofURL: return to + DownloadName.ofURL(url)
        case .ofServer:
            return to + (field.flatMap { DownloadName.ofServer(contentDisposition: $0) } ?? DownloadName.ofURL(url))
        }
    }
}

extension DownloadPayload {
    /// The path that “to” names.
    static func path(_ text: String) throws(PayloadError) -> String {
        guard !text.isEmpty else { throw PayloadError(.data, "“to” is empty") }
        guard !text.utf8.contains(0) else { throw PayloadError(.data, "“to” contains a zero byte") }
        let scheme = text.prefix { $0 != ":" && $0 != "/" }
        if scheme.lowercased() == "file", scheme.endIndex < text.endIndex, text[scheme.endIndex] == ":" {
            return try ResourceURL(text).filePath
        }
        guard !text[scheme.endIndex...].hasPrefix("://") else {
            throw PayloadError(
                .data,
                "“to” is a URL with the scheme “\(scheme.prefix(40))”; a download writes to a path or a file: URL, and "
                    + "an upload sends a file to a URL")
        }
        return text
    }

    static func name(_ value: JSONValue) throws(PayloadError) -> Name {
        if case .null = value { return .ofURL }
        guard let text = value.string else {
            throw PayloadError(.data, "“name” must be a string or null, not \(value.kind)")
        }
        guard text != "server" else { return .ofServer }
        guard !text.isEmpty, text != ".", text != "..", text.utf8.count <= DownloadName.maxBytes,
            !text.utf8.contains(where: { $0 == .slash || $0 == 0 })
        else {
            throw PayloadError(
                .data,
                "“name” is the name of a file, without a slash and of at most \(DownloadName.maxBytes) bytes, "
                    + "“server”, or null, not “\(text.prefix(300))”")
        }
        return .text(text)
    }

    static func overwrite(_ text: String) throws(PayloadError) -> Overwrite {
        guard let overwrite = Overwrite(rawValue: text) else {
            throw PayloadError(
                .data,
                "“overwrite” is “\(text.prefix(80))”; it is “replace”, “keep”, “fail” or “rename” for a target that exists"
            )
        }
        return overwrite
    }

    static func mode(_ text: String) throws(PayloadError) -> UInt32 {
        guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit), let bits = UInt32(text, radix: 8),
            bits <= 0o777
        else { throw PayloadError(.data, "“mode” is “\(text.prefix(80))”; it is octal, from 000 to 777") }
        return bits
    }

    static func headers(_ reader: inout PayloadReader) throws(PayloadError) -> [HTTPField] {
        let headers = try reader.headers("headers")
        guard headers.count <= DownloadHeaderRules.maxFields else {
            throw PayloadError(
                .data, "“headers” has \(headers.count) fields; at most \(DownloadHeaderRules.maxFields) are sent")
        }
        for header in headers {
            if let objection = DownloadHeaderRules.objection(to: header) { throw PayloadError(.data, objection) }
        }
        return headers
    }

    /// The payload as it is stored. Values that are the default are left out.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url.text)), .init("to", .string(to))]
        if let s3 { members.append(.init("s3", s3.json)) }
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        switch name {
        case .ofURL: break
        case .ofServer: members.append(.init("name", "server"))
        case .text(let text): members.append(.init("name", .string(text)))
        }
        if let checksum { members.append(.init("checksum", .string(checksum.text))) }
        if let size { members.append(.init("size", .integer(size))) }
        if overwrite != .replace { members.append(.init("overwrite", .string(overwrite.rawValue))) }
        if let mode { members.append(.init("mode", Self.digits(mode))) }
        if newMode != Self.defaultMode { members.append(.init("newMode", Self.digits(newMode))) }
        if !keepTime { members.append(.init("keepTime", false)) }
        if ifChanged { members.append(.init("ifChanged", true)) }
        if maxBytes > 0 { members.append(.init("maxBytes", .integer(maxBytes))) }
        return .object(members)
    }

    private static func digits(_ mode: UInt32) -> JSONValue {
        let digits = String(mode, radix: 8)
        return .string(String(repeating: "0", count: 4 - digits.utf8.count) + digits)
    }
}

/// The header fields that a producer may set on the requests of a download, beside `HTTPHeaderRules`.
enum DownloadHeaderRules {
    /// The maximum number of fields.
    static let maxFields = 64
    /// The maximum bytes of a value.
    static let maxValueBytes = 8 << 10

    /// - Returns: why this field cannot be set, in a sentence; nil where it can.
    static func objection(to header: HTTPField) -> String? {
        let name = header.name
        switch name.lowercased() {
        case "range", "if-range", "accept-encoding":
            return "the header “\(name)” is how a download resumes, and cannot be set"
        case "if-none-match", "if-modified-since":
            return "the header “\(name)” cannot be set; “ifChanged” asks for the file only where it has changed"
        default: break
        }
        guard header.value.utf8.count <= maxValueBytes else {
            return "the header “\(name)” has \(header.value.utf8.count) bytes; at most \(maxValueBytes) are sent"
        }
        return nil
    }
}

/// The targets of several downloads.
package enum DownloadTargets {
    /// Finds the first download that would replace the file of an earlier one. Names that servers give are not
    /// known yet, and do not collide here.
    /// - Parameter payloads: as ``DownloadOperation/inspect(_:)`` left them.
    /// - Returns: the indices of both, and their path; nil where all paths differ.
    package static func collision(in payloads: [[UInt8]]) -> (earlier: Int, later: Int, path: String)? {
        var indices: [[UInt8]: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            guard let value = try? JSONValue(parsing: payload), let download = try? DownloadPayload(value),
                download.name != .ofServer
            else { continue }
            let path = download.target(contentDisposition: nil)
            if let earlier = indices.updateValue(index, forKey: Array(path.utf8)) { return (earlier, index, path) }
        }
        return nil
    }
}
