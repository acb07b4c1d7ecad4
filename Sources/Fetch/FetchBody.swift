internal import Commands
internal import HTTPClient
internal import Transfers

/// The body of an answer: its bytes, or the path of a stored one.
enum FetchBody: Sendable {
    /// - isTruncated: these are only the first of all bytes.
    case bytes([UInt8], isTruncated: Bool)
    case file(String)
    /// The path of a file that its reader deletes.
    case once(String)

    init(_ stored: StoredBody?) {
        switch stored?.place {
        case .index(let bytes)?: self = .bytes(bytes, isTruncated: false)
        case .file(let path)?: self = .file(path)
        case nil: self = .bytes([], isTruncated: false)
        }
    }

    /// - Parameter path: of the stored body; nil where the response was not stored.
    init(received body: ReceivedBody, path: String?, isKept: Bool) {
        if body.isSmall, isKept {
            self = .bytes(body.start, isTruncated: false)
        } else if let path {
            self = .file(path)
        } else {
            self = .bytes(body.start, isTruncated: true)
        }
    }

    /// All bytes; nil where they are more than `limit`, or cannot be read. Blocks where they are in a file.
    func bytes(upTo limit: Int) -> [UInt8]? {
        switch self {
        case .bytes(let bytes, let isTruncated): isTruncated || bytes.count > limit ? nil : bytes
        case .file(let path), .once(let path): try? StoredFetch.contents(of: path, upTo: limit)
        }
    }

    /// The path of a file with the body.
    var path: String? {
        switch self {
        case .bytes: nil
        case .file(let path), .once(let path): path
        }
    }

    /// The result of a fetch: the members of ``FetchResult``, `headers`, and `body` or `bodyFile`, with `bodyOnce` where
    /// the file may be read once.
    /// - Parameters:
    ///   - url: the last one, where a redirect was followed.
    ///   - remark: of ``PageRemark``.
    func json(_ result: FetchResult, url: String? = nil, remark: String? = nil) -> [UInt8] {
        var members = result.members
        if let url { members.append(.init("url", .string(url))) }
        if let remark { members.append(.init("remark", .string(remark))) }
        if case .once(let path) = self {
            members += [.init("bodyFile", .string(path)), .init("bodyOnce", true)]
        }
        guard !result.isWithheld else { return JSONValue.object(members).bytes }
        members.append(.init("headers", HTTPResult.headers(result.headers)))
        switch self {
        case .bytes(let bytes, let isTruncated):
            let text = HTTPResult.text(of: bytes)
            members.append(.init("body", .string(text ?? Base64.encode(bytes))))
            if text == nil { members.append(.init("bodyEncoding", "base64")) }
            if isTruncated { members.append(.init("bodyTruncated", true)) }
            let type = result.headers.first("content-type")
            if let text, !isTruncated, let value = HTTPResult.value(of: text, type: type) {
                members.append(.init("json", value))
            }
        case .file(let path): members.append(.init("bodyFile", .string(path)))
        case .once: break
        }
        return JSONValue.object(members).bytes
    }
}

/// The remark of a fetch whose answer seems to be one page of a longer list, with the option that reads the rest.
///
/// A fetch is one request, so it cannot read the list; without a word the page would pass for all of it.
enum PageRemark {
    /// Bytes of the longest body that is looked at. Pages of APIs are shorter; of a longer body only the header is.
    static let maxBody = 1 << 20

    /// Blocks where the body is a file.
    /// - Parameters:
    ///   - headers: of the response, also where the result does not have them.
    static func text(_ result: FetchResult, headers: HeaderFields, _ body: FetchBody) -> String? {
        guard (200..<300).contains(result.status) else { return nil }
        var answer: JSONValue?
        if HTTPResult.isJSON(type: headers.first("content-type")), let bytes = body.bytes(upTo: maxBody) {
            answer = try? JSONValue(parsing: bytes)
        }
        guard let rest = PagingSigns(answer: answer, fields: headers).rest else { return nil }
        // `no-store` forbids to keep the count of an answer, and the names of its members.
        let sign = result.isWithheld ? "" : ": \(rest)"
        return "this may be one page of a longer list; “sluice sync” reads all pages\(sign)"
    }
}
