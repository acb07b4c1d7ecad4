internal import HTTPClient

/// Media types by file name extension, for `Content-Type` where the producer sets none.
package enum MediaType {
    package static let unknown = "application/octet-stream"

    /// The type of a `Content-Type` field in lower case, without parameters; nil where there is none.
    package static func essence(_ field: String?) -> String? {
        let name = field?.prefix { $0 != ";" && $0 != "," }.trimmed.lowercased() ?? ""
        return name.isEmpty ? nil : name
    }

    /// Whether pages and records about a file are of this type, as servers name them in the answer to a POST.
    package static func isDescription(_ type: String) -> Bool {
        ["text/html", "text/plain", "text/xml", "application/json", "application/xml"].contains(type)
            || type.hasSuffix("+json") || type.hasSuffix("+xml")
    }

    /// The table is short on purpose: it has the types that servers usually ingest. `--header` sets any
    /// other.
    package static func of(fileName: some StringProtocol) -> String {
        guard let dot = fileName.lastIndex(of: "."), dot != fileName.startIndex else { return unknown }
        return switch fileName[fileName.index(after: dot)...].lowercased() {
        case "txt", "log", "md": "text/plain; charset=utf-8"
        case "html", "htm": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "csv": "text/csv; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "json": "application/json"
        case "xml": "application/xml"
        case "pdf": "application/pdf"
        case "zip": "application/zip"
        case "gz", "tgz": "application/gzip"
        case "tar": "application/x-tar"
        case "zst": "application/zstd"
        case "jpg", "jpeg": "image/jpeg"
        case "png": "image/png"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "avif": "image/avif"
        case "heic": "image/heic"
        case "svg": "image/svg+xml"
        case "tif", "tiff": "image/tiff"
        case "mp3": "audio/mpeg"
        case "m4a": "audio/mp4"
        case "wav": "audio/wav"
        case "flac": "audio/flac"
        case "ogg", "oga": "audio/ogg"
        case "mp4", "m4v": "video/mp4"
        case "mov": "video/quicktime"
        case "mkv": "video/matroska"
        case "webm": "video/webm"
        case "ts": "video/mp2t"
        case "m3u8": "application/vnd.apple.mpegurl"
        default: unknown
        }
    }
}
