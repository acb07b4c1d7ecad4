internal import Commands
internal import HTTPTypes
internal import NIOHTTP1

/// The head of a request, after the checks that keep two servers from reading a connection differently.
struct RequestHead: Sendable {
    var method: HTTPRequest.Method
    var target: RequestTarget
    /// The field Host; nil in a request of HTTP/1.0 without it, as load balancers send to ask for the health.
    var host: String?
    /// Without Host.
    var fields: HTTPFields
    var hasBody: Bool
    /// Nil for a chunked body.
    var length: Int64?
    var awaitsContinue: Bool

    init(_ head: HTTPRequestHead) throws(Problem) {
        guard let method = HTTPRequest.Method(head.method.rawValue), method != .connect else {
            throw Problem(
                .notImplemented, "unknown-method",
                "The server does not implement the method of the request; Allow "
                    + "of an OPTIONS response names those of a resource.")
        }
        self.method = method
        let hosts = head.headers["host"]
        guard hosts.count == 1 || hosts.isEmpty && head.version == .http1_0 else {
            throw Problem(.badRequest, "bad-host", "The request has \(hosts.count) fields Host; send exactly one.")
        }
        host = hosts.first
        target = try RequestTarget(head.uri, host: hosts.first ?? "")
        guard !target.isAsterisk || method == .options else {
            throw Problem(.badRequest, "bad-target", "Only OPTIONS may have “*” as its target; name a path.")
        }
        (hasBody, length) = try Self.framing(head)
        awaitsContinue = try Self.expectation(head)
        fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers where name.lowercased() != "host" {
            // Space around a value is not a part of it (RFC 9110, section 5.5), and the parser leaves it at the end.
            let value = Self.trimmed(value)
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                throw Problem(
                    .badRequest, "bad-field", "A field of the request has an invalid name or value; send visible ASCII."
                )
            }
            // Two servers may each take another one (RFC 9110, section 5.3).
            guard name != .contentType || fields[.contentType] == nil else {
                throw Problem(.badRequest, "bad-field", "The request has two fields Content-Type; send one.")
            }
            fields.append(HTTPField(name: name, value: value))
        }
    }

    private static func trimmed(_ value: String) -> String {
        guard let last = value.utf8.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") else { return value }
        var rest = value.utf8[...]
        while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { rest.removeLast() }
        return String(Substring(rest))
    }

    static func announcesBody(_ head: HTTPRequestHead) -> Bool {
        head.headers.contains(name: "transfer-encoding") || head.headers.first(name: "content-length") ?? "0" != "0"
    }

    /// - Returns: whether there is a body, and its length where it is announced.
    private static func framing(_ head: HTTPRequestHead) throws(Problem) -> (Bool, Int64?) {
        let encodings = head.headers["transfer-encoding"]
        if !encodings.isEmpty {
            guard head.version == .http1_1 else {
                throw Problem(
                    .badRequest, "bad-framing",
                    "A request of HTTP/1.0 has no Transfer-Encoding; send Content-Length, or HTTP/1.1.")
            }
            guard encodings.count == 1, encodings[0].lowercased() == "chunked" else {
                throw Problem(
                    .notImplemented, "unknown-encoding",
                    "The server understands no Transfer-Encoding but “chunked”; send the body without another.")
            }
            return (true, nil)
        }
        let lengths = head.headers["content-length"]
        guard let text = lengths.first else { return (false, 0) }
        guard lengths.count == 1, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int64(text) else {
            throw Problem(
                .badRequest, "bad-length",
                "Content-Length is not a number of bytes up to 9,223,372,036,854,775,807; "
                    + "send the number of bytes of the body.")
        }
        return (length > 0, length)
    }

    private static func expectation(_ head: HTTPRequestHead) throws(Problem) -> Bool {
        let expectations = head.headers[canonicalForm: "expect"]
        guard !expectations.isEmpty, head.version == .http1_1 else { return false }
        guard expectations.count == 1, expectations[0].lowercased() == "100-continue" else {
            throw Problem(
                .expectationFailed, "unknown-expectation",
                "The server meets no expectation but “100-continue”; leave out Expect.")
        }
        return true
    }
}

/// The target of a request (RFC 9112, section 3.2), taken apart.
package struct RequestTarget: Sendable, Equatable {
    /// The parts between the slashes, percent-decoded. One slash at the end counts for nothing. A part has a slash only
    /// where it is an origin, as `https://media.example.com`.
    package var path: [String]
    package var query: DoorQuery
    /// `OPTIONS *` asks about the server as a whole.
    package var isAsterisk = false

    /// - Parameters:
    ///   - text: an absolute path with an optional query, an `http` or `https` URL, or `*`.
    ///   - host: the field Host. A URL must name the same host.
    /// - Throws: ``Problem`` 400 `bad-target`, also for a part that is `.` or `..`.
    package init(_ text: String, host: String) throws(Problem) {
        if text == "*" {
            (path, query, isAsterisk) = ([], DoorQuery(), true)
            return
        }
        let local = try Self.localPart(of: text, host: host)
        guard local.utf8.first == UInt8(ascii: "/"), !local.utf8.contains(UInt8(ascii: "#")) else {
            throw Self.problem("The target of the request is neither a path nor a URL of this server; send the path.")
        }
        let parts = local.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        query = try parts.count == 2 ? DoorQuery(parsing: parts[1]) : DoorQuery()
        path = []
        var segments = parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        if segments.last?.isEmpty == true { segments.removeLast() }
        for segment in segments { path.append(try Self.decode(segment)) }
    }

    private static func localPart(of text: String, host: String) throws(Problem) -> Substring {
        guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return Substring(text)
        }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard rest[..<end].lowercased() == host.lowercased() else {
            throw problem("The URL of the request names another host than the field Host; send the same in both.")
        }
        if end == rest.endIndex { return "/" }
        return rest[end] == "?" ? "/" + rest[end...] : rest[end...]
    }

    private static func decode(_ segment: Substring) throws(Problem) -> String {
        guard let text = PercentCoding.decode(segment) else {
            throw problem("A part of the path is not percent-encoded UTF-8 without NUL; encode each part by itself.")
        }
        // The resource of a link is named by an origin, which is the only text with slashes.
        let mayContainSlash = Destination(origin: text) != nil
        guard text != ".", text != "..", mayContainSlash || !text.utf8.contains(UInt8(ascii: "/")) else {
            throw problem("A part of the path is “.” or “..”, or contains a slash; name the resource itself.")
        }
        return text
    }

    private static func problem(_ detail: String) -> Problem { Problem(.badRequest, "bad-target", detail) }
}
