/// The response of a script.
package struct ScriptAnswer: Sendable, Equatable {
    package enum Body: Sendable, Equatable {
        case text([UInt8])
        /// This number of bytes `x`.
        case filler(Int)

        var count: Int {
            switch self {
            case .text(let bytes): bytes.count
            case .filler(let count): count
            }
        }
    }

    package enum Framing: Sendable, Equatable {
        /// The Content-Length of the body.
        case length
        /// A Content-Length that may be wrong.
        case stated(Int)
        /// - Parameter isEnded: whether the last chunk is sent.
        case chunked(isEnded: Bool)
        /// The body ends with the connection.
        case none
    }

    package var status: Int
    package var reason = "Status"
    package var headers: [(name: String, value: String)] = []
    /// The number of additional short fields.
    package var fields = 0
    /// The size of the value of an additional long field.
    package var longField: Int?
    package var body = Body.text([])
    package var framing = Framing.length
    package var headDrip: ScriptDrip?
    package var bodyDrip: ScriptDrip?

    package init(_ status: Int) { self.status = status }

    package static func == (left: Self, right: Self) -> Bool {
        left.status == right.status && left.reason == right.reason && left.fields == right.fields
            && left.headers.elementsEqual(right.headers, by: ==) && left.longField == right.longField
            && left.body == right.body && left.framing == right.framing && left.headDrip == right.headDrip
            && left.bodyDrip == right.bodyDrip
    }

    /// Whether HTTP forbids a body (RFC 9112, section 6.3).
    func isWithoutBody(to method: String) -> Bool {
        method == "HEAD" || status < 200 || status == 204 || status == 304
    }

    /// The bytes of the head, with its empty line.
    /// - Parameter replacing: replaces the `{…}` of a text.
    func head(replacing: (String) -> String) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(replacing(reason))\r\n"
        for (name, value) in headers { text += "\(name): \(replacing(value))\r\n" }
        if fields > 0 { for number in 1...fields { text += "X-\(number): \(number)\r\n" } }
        if let longField { text += "X-Long: \(String(repeating: "x", count: longField))\r\n" }
        if status >= 200, !headers.contains(where: { $0.name.lowercased() == "content-length" }) {
            switch framing {
            case .length: if status != 204 { text += "Content-Length: \(length(replacing))\r\n" }
            case .stated(let length): text += "Content-Length: \(length)\r\n"
            case .chunked: text += "Transfer-Encoding: chunked\r\n"
            case .none: break
            }
        }
        return Array((text + "\r\n").utf8)
    }

    /// The body with its `{…}` replaced.
    func body(replacing: (String) -> String) -> Body {
        guard case .text(let bytes) = body, bytes.contains(UInt8(ascii: "{")),
            let text = String(validating: bytes, as: UTF8.self)
        else { return body }
        return .text(Array(replacing(text).utf8))
    }

    private func length(_ replacing: (String) -> String) -> Int { body(replacing: replacing).count }
}
