package import Commands
package import Console

/// Failures by their cause: the reasons of one cause differ only in paths, names and numbers. Pure.
package struct FailureGroups: Sendable, Equatable {
    package struct Group: Sendable, Equatable {
        /// The reason, with “…” where reasons differ.
        package var pattern: String
        /// The longest text that all reasons contain.
        package var search: String
        /// Failures of commands; one command may have failed several times.
        package var count: Int
        /// Whether `count` has all that the store keeps.
        package var isComplete = true
        /// The newest failure.
        package var newest: CommandID
        package var at: Timestamp
    }

    /// Causes that are kept. A cause with many names is one, so that it hides no other.
    static let maxGroups = 50
    /// The text of a search is not longer.
    private static let maxSearch = 120

    /// The newest first.
    package private(set) var groups: [Group] = []
    /// The last command that was added.
    private var last: CommandID?

    package init() {}

    /// Adds the newest failure.
    /// - Parameter isComplete: false where the store keeps more failures than are added.
    package mutating func add(_ problem: WatchState.Problem, isComplete: Bool = true) {
        guard let id = CommandID(problem.id), let at = Timestamp(rfc3339: problem.at) else { return }
        // The last failure of a command has two transitions: the failure, and the one that made it a dead letter.
        let isSame = problem.status == CommandStatus.tooManyTimes.name && last == id
        last = id
        let (pattern, search) = Self.pattern(of: problem.reason)
        var group = Group(pattern: pattern, search: search, count: 0, newest: id, at: at)
        if let index = groups.firstIndex(where: { $0.pattern == pattern }) {
            group = groups.remove(at: index)
        } else if isSame {
            group.count = problem.count
        }
        (group.newest, group.at) = (id, at)
        if !isSame { group.count += problem.count }
        group.isComplete = group.isComplete && isComplete
        groups.insert(group, at: 0)
        if groups.count > Self.maxGroups { groups.removeLast() }
    }

    static func pattern(of reason: String) -> (pattern: String, search: String) {
        var words: [String] = []
        var runs: [[Substring]] = [[]]
        for word in reason.split(separator: " ", omittingEmptySubsequences: false) {
            if let shown = placeholder(of: word) {
                words.append(shown)
                runs.append([])
            } else {
                words.append(String(word))
                runs[runs.count - 1].append(word)
            }
        }
        let longest = runs.map { $0.joined(separator: " ") }.max { $0.utf8.count < $1.utf8.count } ?? ""
        return (words.joined(separator: " "), String(longest.prefix(maxSearch)))
    }

    /// Nil for a word that the reasons of one cause share.
    private static func placeholder(of word: Substring) -> String? {
        if let scheme = word.range(of: "://") {
            let rest = word[scheme.upperBound...]
            guard let slash = rest.firstIndex(of: "/") else { return nil }
            return "\(word[..<slash])/…"
        }
        let digits = word.utf8.count { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let isPath = word.utf8.count > 1 && word.utf8.contains(UInt8(ascii: "/"))
        return isPath || digits > 3 || word.hasPrefix("“") && digits > 0 ? "…" : nil
    }
}

extension StringProtocol {
    /// Of the first occurrence, byte for byte.
    fileprivate func range(of text: String) -> Range<Index>? {
        let (bytes, part) = (Array(utf8), Array(text.utf8))
        guard bytes.count >= part.count else { return nil }
        for start in 0...(bytes.count - part.count) where bytes[start..<start + part.count].elementsEqual(part) {
            let first = utf8.index(startIndex, offsetBy: start)
            return first..<utf8.index(first, offsetBy: part.count)
        }
        return nil
    }
}
