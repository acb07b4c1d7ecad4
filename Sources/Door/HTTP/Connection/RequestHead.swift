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
