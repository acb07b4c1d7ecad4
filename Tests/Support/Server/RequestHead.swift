internal import NIOCore

/// The head of a request.
struct RequestHead {
    var method: String
    var target: String
    var headers: [ReceivedRequest.Header]
    /// The Content-Length; 0 without one.
    var declared: Int

    /// Takes a complete head from the start of `bytes`.
    /// - Returns: nil while the end of the head is missing, and a failure if the bytes are not a head.
    static func take(from bytes: inout ByteBuffer) -> Result<RequestHead, NotHTTP>? {
        guard let end = bytes.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        guard let text = bytes.readString(length: end.upperBound - bytes.readerIndex) else { return nil }
        let lines = text.split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .failure(NotHTTP()) }
        let headers = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            return ReceivedRequest.Header(name: String(line[..<colon]), value: String(value))
        }
        var head = RequestHead(
            method: String(words[0]), target: String(words[1]), headers: headers, declared: 0)
        if let length = head["content-length"] {
            guard let declared = Int(length), declared >= 0 else { return .failure(NotHTTP()) }
            head.declared = declared
        }
        guard head["transfer-encoding"] == nil else { return .failure(NotHTTP()) }
        return .success(head)
    }

    struct NotHTTP: Error {}

    /// The target without its query.
    var path: String { String(target.prefix { $0 != "?" }) }

    /// The value of the first header of a name in lower case.
    subscript(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

    func question(active: Int, idle: Duration) -> ScriptRule.Request {
        ScriptRule.Request(
            method: method, path: path, declared: declared, active: active, idle: idle,
            headers: Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first })
    }
}
