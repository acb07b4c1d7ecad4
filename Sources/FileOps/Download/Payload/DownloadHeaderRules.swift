internal import Transfers

/// The header fields that a producer may set on the requests of a download, beside `HTTPHeaderRules`.
enum DownloadHeaderRules {
    /// The maximum number of fields.
    static let maxFields = 64
    /// The maximum bytes of a value.
    static let maxValueBytes = 8 << 10

    /// - Returns: why this field cannot be set, in a sentence; nil where it can.
    static func objection(to header: HTTPField) -> String? {
        let name = header.name
        switch name.lowercased() {
        case "range", "if-range", "accept-encoding":
            return "the header “\(name)” is how a download resumes, and cannot be set"
        case "if-none-match", "if-modified-since":
            return "the header “\(name)” cannot be set; “ifChanged” asks for the file only where it has changed"
        default: break
        }
        guard header.value.utf8.count <= maxValueBytes else {
            return "the header “\(name)” has \(header.value.utf8.count) bytes; at most \(maxValueBytes) are sent"
        }
        return nil
    }
}
