/// A response as it came over the wire.
struct RawResponse: Sendable {
    var status: Int
    /// Names in lower case, in their order.
    var fields: [(name: String, value: String)]
    /// Without the framing of chunks.
    var body: String

    subscript(_ name: String) -> String? { fields.first { $0.name == name.lowercased() }?.value }

    var closes: Bool { self["connection"] == "close" }

    /// Takes one response from the front of a text.
    /// - Parameter isHead: whether the request was HEAD: there is no body.
    /// - Returns: nil while the response is not complete.
    static func take(from text: inout String, isHead: Bool) -> RawResponse? {
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { return nil }
        var response = RawResponse(status: status, fields: [], body: "")
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            response.fields.append((pair[0].lowercased(), pair.count == 2 ? String(pair[1].dropFirst()) : ""))
        }
        var rest = text[end.upperBound...]
        if !isHead, status >= 200, status != 204, status != 304 {
            guard let body = response.takeBody(from: &rest) else { return nil }
            response.body = body
        }
        text = String(rest)
        return response
    }

    private func takeBody(from rest: inout Substring) -> String? {
        if let length = self["content-length"].flatMap({ Int($0) }) {
            guard rest.utf8.count >= length else { return nil }
            let end = rest.utf8.index(rest.startIndex, offsetBy: length)
            defer { rest = rest[end...] }
            return String(rest[..<end])
        }
        guard self["transfer-encoding"] == "chunked" else { return "" }
        var body = ""
        while let line = rest.range(of: "\r\n"), let size = Int(rest[..<line.lowerBound], radix: 16) {
            let start = line.upperBound
            guard rest[start...].utf8.count >= size + 2 else { return nil }
            let end = rest.utf8.index(start, offsetBy: size)
            body += rest[start..<end]
            rest = rest[rest.utf8.index(end, offsetBy: 2)...]
            if size == 0 { return body }
        }
        return nil
    }
}

extension StringProtocol {
    fileprivate func range(of text: String) -> Range<Index>? {
        let (bytes, pattern) = (Array(utf8), Array(text.utf8))
        guard bytes.count >= pattern.count else { return nil }
        for start in 0...(bytes.count - pattern.count) where bytes[start..<start + pattern.count].elementsEqual(pattern)
        {
            let lower = utf8.index(startIndex, offsetBy: start)
            return lower..<utf8.index(lower, offsetBy: pattern.count)
        }
        return nil
    }
}
