internal import Commands
internal import Console

/// Failures with one cause: their reasons differ only in paths, names and numbers. Pure.
struct FailureGroups {
    struct Group: Equatable {
        /// The reason, with “…” where reasons differ.
        var pattern: String
        /// The longest text that all reasons contain.
        var search: String
        /// Failures of commands; one command may have failed several times.
        var count: Int
        /// The newest failure.
        var newest: CommandID
        var at: Timestamp
    }

    /// The text of a search is not longer.
    private static let maxSearch = 120

    /// The newest first.
    private(set) var groups: [Group] = []

    /// - Parameter problems: the newest first.
    init(_ problems: [WatchState.Problem]) {
        var index: [String: Int] = [:]
        var seen: Set<String> = []
        for problem in problems {
            guard let id = CommandID(problem.id), let at = Timestamp(rfc3339: problem.at) else { continue }
            let (pattern, search) = Self.pattern(of: problem.reason)
            // The last failure of a command is noted twice: as a failure, and as the one that made it a dead letter.
            let isSame = problem.status == CommandStatus.error.name && !seen.insert(problem.id).inserted
            seen.insert(problem.id)
            if let position = index[pattern] {
                if !isSame { groups[position].count += problem.count }
            } else {
                index[pattern] = groups.count
                groups.append(Group(pattern: pattern, search: search, count: problem.count, newest: id, at: at))
            }
        }
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
