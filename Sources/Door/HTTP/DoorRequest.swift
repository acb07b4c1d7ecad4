internal import Commands
internal import HTTPClient
package import HTTPTypes
package import NIOCore

package import struct HTTPTypes.HTTPRequest

/// A request, after the checks that hold for every path.
package struct DoorRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The parts of the path below the base path, percent-decoded.
    package var path: [String]
    /// The values that the braces of an endpoint's path matched, by their names.
    package var parameters: [String: String] = [:]
    package var query: DoorQuery
    package var fields: HTTPFields
    package var body: RequestBody
    /// `X-Request-ID` of the response, and of the log.
    package var id: String
    /// The address of the client, after trusted proxies; `unix` on the unix socket.
    package var client: String
    /// The scheme, host and base path that links in responses begin with, without a slash at the end; the base path alone
    /// where the scheme is not known.
    package var baseURL: String
    /// Nil where the endpoint needs no token.
    package var principal: Principal?
    /// The fields after a chunked body; nil before its end, and where there are none.
    package var trailers: @Sendable () -> HTTPFields? = { nil }
    /// The memory of a body that is held as a whole.
    package var memory = BodyMemory.Share(of: BodyMemory(capacity: .max / 2))
    /// For a response that lasts.
    package var connection = RequestConnection()
    /// Sends a response before the final one: 104. Clients of HTTP/1.0 get none. A client that awaits 100 gets it with
    /// the first read of ``body``.
    package var sendInterim: @Sendable (HTTPResponse.Status, HTTPFields) async throws -> Void

    package init(
        method: HTTPRequest.Method, path: [String], query: DoorQuery, fields: HTTPFields, body: RequestBody, id: String,
        client: String, baseURL: String,
        sendInterim: @escaping @Sendable (HTTPResponse.Status, HTTPFields) async throws -> Void
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.id = id
        self.client = client
        self.baseURL = baseURL
        self.sendInterim = sendInterim
    }
}

extension DoorRequest {
    /// The origin of a change, for the reasons of transitions: `token “studio” at 192.0.2.7`.
    package var actor: String {
        "\(principal.map { "token “\($0.name)”" } ?? "a client") at \(client)"
    }

    /// Reads the whole body, which takes a share of ``memory`` until the request ends.
    /// - Parameters:
    ///   - limit: bytes. A longer body is refused, before any of it is read where its length is announced.
    ///   - weight: bytes of memory for each byte of the body, from 1 on: more than 1 where it is parsed as a whole.
    /// - Throws: ``Problem`` 413; 503 where the bodies of all requests take too much memory; the errors of a body that was
    ///   cut.
    package func collectBody(limit: Int, weight: Int = 1) async throws -> ByteBuffer {
        if let length = fields[.contentLength].flatMap({ Int64($0) }) {
            guard length <= limit else { throw Self.tooLong(limit) }
            try memory.check(Int(length) * weight)
        }
        var collected = ByteBuffer()
        for try await part in body {
            guard collected.readableBytes + part.readableBytes <= limit else { throw Self.tooLong(limit) }
            try memory.take(part.readableBytes * weight)
            collected.writeImmutableBuffer(part)
        }
        return collected
    }

    private static func tooLong(_ limit: Int) -> Problem {
        Problem(
            .contentTooLarge, "too-large", "The body of the request may have \(limit) bytes; send a shorter one.",
            members: [.init("limit", .integer(Int64(limit)))])
    }
}

/// The connection of a request, for a response that lasts as long as its client.
package struct RequestConnection: Sendable {
    /// Sets the send buffer of the kernel (SO_SNDBUF), in bytes. Linux doubles the number. By default the buffers of a
    /// client that reads nothing take 14–30 MB before a write waits.
    package var setSendBuffer: @Sendable (_ bytes: Int) async throws -> Void = { _ in }
    /// Closes the connection at once. A write that waits for the client fails.
    package var close: @Sendable () -> Void = {}
    /// Calls `body` when the client has closed its end of the connection, or at once where it has. Only the last `body`
    /// of a connection is called.
    package var whenGone: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void = { _ in }

    package init() {}
}

/// The query of a URL, form-decoded, in its order.
package struct DoorQuery: Sendable, Equatable {
    package var items: [(name: String, value: String)]

    package init(_ items: [(name: String, value: String)] = []) { self.items = items }

    /// Reads `a=1&b=two+words`. A part without `=` is a name with an empty value; empty parts count for nothing.
    /// - Throws: ``Problem`` where a name or value is not percent-encoded UTF-8.
    package init(parsing text: some StringProtocol) throws(Problem) {
        self.init()
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(pair[0], decodesPlus: true),
                let value = pair.count == 2 ? PercentCoding.decode(pair[1], decodesPlus: true) : ""
            else {
                throw Problem(
                    .badRequest, "bad-query",
                    "The query of the URL is not percent-encoded UTF-8 without NUL; encode its names and values.")
            }
            items.append((name, value))
        }
    }

    /// The value of the first item with that name; nil without one.
    package subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    package static func == (one: DoorQuery, other: DoorQuery) -> Bool {
        one.items.elementsEqual(other.items) { $0 == $1 }
    }
}

/// The escapes of URLs (RFC 3986, section 2.1).
package enum PercentCoding {
    /// - Parameter decodesPlus: whether `+` is a space, as in forms.
    /// - Returns: nil for a bad escape, a NUL, and bytes that are not UTF-8.
    package static func decode(_ text: some StringProtocol, decodesPlus: Bool = false) -> String? {
        let encoded = text.utf8.map { decodesPlus && $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        guard let bytes = PercentEncoding.validDecoded(encoded), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
