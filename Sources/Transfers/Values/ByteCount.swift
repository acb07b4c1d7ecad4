internal import HTTPClient

/// Sizes with units.
package enum ByteCount {
    private static let units: [(name: String, bytes: Int64)] = [
        ("", 1), ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1 << 10),
        ("MiB", 1 << 20), ("GiB", 1 << 30), ("TB", 1_000_000_000_000), ("TiB", 1 << 40),
    ]

    /// Reads `8MiB`, `8 MB` or plain bytes.
    /// - Returns: nil for anything else, for fractions, and for more than 1 EB.
    package static func bytes(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text[digits.endIndex...].trimmed
        guard let number = Int64(digits), let factor = units.first(where: { $0.name == unit })?.bytes else {
            return nil
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow || bytes > 1_000_000_000_000_000_000 ? nil : bytes
    }
}
