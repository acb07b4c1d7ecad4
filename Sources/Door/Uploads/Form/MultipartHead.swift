internal import Commands
internal import HTTPClient
internal import HTTPTypes

/// The fields of a part of a form (RFC 7578, section 4).
struct MultipartHead: Equatable {
    var name: String
    /// Text of the client. Browsers send an empty one where no file was chosen. Nil: the part is a field.
    var fileName: String?
    var contentType: String?

    init(name: String, fileName: String? = nil, contentType: String? = nil) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
    }

    /// - Parameter bytes: lines that end with CRLF, without the empty one.
    init(parsing bytes: some Collection<UInt8>) throws(Problem) {
        var disposition: FieldParameters?
        for line in Self.lines(Array(bytes)) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(\.isTokenCharacter),
                line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw Self.refusal("has a line that is not a field") }
            let value = line[(colon + 1)...]
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-disposition":
                guard disposition == nil, let field = FieldParameters(value), field.value == "form-data" else {
                    throw Self.refusal("has no single Content-Disposition: form-data in UTF-8")
                }
                disposition = field
            case "content-type":
                guard contentType == nil, let text = String(validating: value, as: UTF8.self) else {
                    throw Self.refusal("has no single Content-Type in UTF-8")
                }
                contentType = text.trimmed
            case "content-transfer-encoding":
                let encoding = String(decoding: value, as: UTF8.self).trimmed.lowercased()
                guard ["7bit", "8bit", "binary"].contains(encoding) else {
                    throw Self.refusal("is encoded as “\(encoding.excerpt)”; send its bytes as they are")
                }
            default: break
            }
        }
        guard let disposition, let name = disposition["name"] else {
            throw Self.refusal("has no Content-Disposition: form-data with a name")
        }
        self.name = name
        fileName = ContentDisposition.fileName(disposition)
        if fileName == nil, contentType?.lowercased().hasPrefix("multipart/") == true {
            throw Self.refusal("has parts of its own; send each file as a part of the form (RFC 7578, section 4.3)")
        }
    }

    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices.dropFirst() where bytes[index] == 0x0A && bytes[index - 1] == 0x0D {
            lines.append(bytes[start..<(index - 1)])
            start = index + 1
        }
        if start < bytes.count { lines.append(bytes[start...]) }
        return lines
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-form", "A part of the form \(reason).")
    }
}
