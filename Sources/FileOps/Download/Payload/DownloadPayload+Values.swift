internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

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
}
