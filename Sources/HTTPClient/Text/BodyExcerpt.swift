/// The words of an error page, for a reason that a person reads in a table or on a phone. Pure.
///
/// A server that has no words of its own sends a page of HTML, whose title is most often the status again:
/// `<html><head><title>404 Not Found</title>…`. Of HTML the title is shown, of XML the text between the tags, and nothing
/// where that only repeats the status.
package enum BodyExcerpt {
    /// The maximum number of characters of the result.
    private static let limit = 200
    /// Words of a title that say nothing beyond the status.
    private static let fillers: Set<String> = [
        "error", "errors", "http", "https", "status", "code", "response", "page", "the", "a", "an", "server", "was",
        "is",
        "oops", "sorry", "that", "s", "web",
    ]

    /// - Parameters:
    ///   - body: as it came; it may be cut off anywhere.
    ///   - status: of the response.
    ///   - phrase: the reason phrase of the response.
    /// - Returns: one line; empty where the body has no words, or repeats the status.
    package static func text(_ body: String, status: Int, phrase: String) -> String {
        var text = body.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        if text.first == "<", let markup = markup(text) { text = markup[...] }
        let line = SingleLine.text(String(text), limit: limit)
        return repeats(line, status: status, phrase: phrase) ? "" : line
    }

    /// The body as `: “Disk full”`; empty where ``text(_:status:phrase:)`` is.
    package static func clause(_ body: String, status: Int, phrase: String) -> String {
        let text = text(body, status: status, phrase: phrase)
        return text.isEmpty ? "" : ": “\(text)”"
    }

    /// Whether a text has only the words of the status.
    private static func repeats(_ text: String, status: Int, phrase: String) -> Bool {
        let known = words(phrase).union(Self.phrases[status].map(words) ?? []).union(fillers).union(["\(status)"])
        return words(text).allSatisfy { known.contains($0) || $0.count == 1 }
    }

    private static func words(_ text: String) -> Set<String> {
        Set(text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init))
    }

    /// The phrases of RFC 9110 and RFC 6585, because a server may send another phrase or none.
    private static let phrases: [Int: String] = [
        400: "Bad Request", 401: "Unauthorized Authorization Required", 402: "Payment Required", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout Time-out", 409: "Conflict", 410: "Gone", 411: "Length Required",
        412: "Precondition Failed", 413: "Content Payload Request Entity Too Large", 414: "URI Too Long Large",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content Entity", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
        501: "Not Implemented", 502: "Bad Gateway", 503: "Service Temporarily Unavailable",
        504: "Gateway Timeout Time-out", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
        511: "Network Authentication Required",
    ]

    // MARK: Markup

    /// - Returns: nil for a text that begins with `<` and is not markup.
    private static func markup(_ text: Substring) -> String? {
        let start = text.prefix(4096).lowercased()
        let isHTML =
            ["<!doctype html", "<html", "<head", "<body", "<title", "<h1", "<center"].contains { start.hasPrefix($0) }
            || start.contains("<html")
        if isHTML { return element("title", of: text) ?? element("h1", of: text) ?? "" }
        guard let second = start.dropFirst().first, second.isLetter || second == "?" || second == "!" else {
            return nil
        }
        return unescaped(withoutTags(text))
    }

    /// The text of the first element of that name; nil where there is none, or it is empty.
    private static func element(_ name: String, of text: Substring) -> String? {
        // Lengths stay the same, because only ASCII letters are lowered.
        let bytes = Array(text.utf8)
        let lower = bytes.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
        func find(_ pattern: String, from start: Int) -> Int? {
            let pattern = Array(pattern.utf8)
            guard lower.count >= start + pattern.count else { return nil }
            return (start...lower.count - pattern.count).first { lower[$0...].starts(with: pattern) }
        }
        guard let open = find("<\(name)", from: 0), let begin = lower[open...].firstIndex(of: UInt8(ascii: ">")) else {
            return nil
        }
        let end = find("</\(name)", from: begin) ?? bytes.count
        let text = unescaped(
            withoutTags(String(decoding: bytes[(begin + 1)..<max(end, begin + 1)], as: UTF8.self)[...]))
        return text.allSatisfy(\.isWhitespace) ? nil : text
    }

    private static func withoutTags(_ text: Substring) -> String {
        var result = ""
        var isTag = false
        for character in text {
            switch character {
            case "<":
                isTag = true
                result += " "
            case ">" where isTag: isTag = false
            default: if !isTag { result.append(character) }
            }
        }
        return result
    }

    /// The references that titles have. Any other stays as it is.
    private static func unescaped(_ text: String) -> String {
        guard text.contains("&") else { return text }
        let names = [
            "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'", "&apos;": "'", "&nbsp;": " ", "&#160;": " ",
            "&mdash;": "—", "&ndash;": "–", "&hellip;": "…",
        ]
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            rest = rest[mark...]
            if let (name, value) = names.first(where: { rest.hasPrefix($0.key) }) {
                result += value
                rest = rest.dropFirst(name.count)
            } else {
                // Last, so that an escaped reference is not read twice.
                result += "&"
                rest = rest.dropFirst(rest.hasPrefix("&amp;") ? 5 : 1)
            }
        }
        return result + rest
    }
}

/// Text of a server in a message: one line without control characters.
package enum SingleLine {
    /// - Parameters:
    ///   - text: the text as it came.
    ///   - limit: the maximum number of characters; `…` replaces the rest.
    package static func text(_ text: String, limit: Int) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(limit * 4) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line.unicodeScalars.append(" ")
            default: line.unicodeScalars.append(scalar)
            }
        }
        line = line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return line.count > limit ? line.prefix(limit) + "…" : line
    }
}
