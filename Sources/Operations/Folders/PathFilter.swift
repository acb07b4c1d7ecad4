package import Work

/// Chooses files by their paths below a folder: those that one of the patterns to include matches, or all where
/// there is none, but never one that a pattern to exclude matches. The order of the patterns does not count. Pure.
package struct PathFilter: Sendable, Equatable {
    private let included: [PathPattern]
    private let excluded: [PathPattern]

    /// - Throws: ``PayloadError`` of the kind `usage` that names the pattern.
    package init(including: [String] = [], excluding: [String] = []) throws(PayloadError) {
        included = try including.map { (text) throws(PayloadError) in try PathPattern(text) }
        excluded = try excluding.map { (text) throws(PayloadError) in try PathPattern(text) }
    }

    /// - Parameter path: of a file, with a slash between two names.
    package func takes(_ path: some Sequence<UInt8>) -> Bool {
        (included.isEmpty || included.contains { $0.matches(path) }) && !excluded.contains { $0.matches(path) }
    }

    /// Whether nothing below a folder is taken, so that it need not be read.
    package func skips(folder path: some Sequence<UInt8>) -> Bool { excluded.contains { $0.covers(path) } }
}
