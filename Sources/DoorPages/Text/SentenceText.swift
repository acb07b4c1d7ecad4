internal import Commands

/// A sentence of the store, or of a program, on a page: the ids of commands lead to their pages, and times are those of
/// the reader's zone.
struct SentenceText {
    private static let marks: Set<Character> = [".", ",", ";", ":", "(", ")", "“", "”", "\""]

    private let visit: Visit
    private let own: CommandID

    /// - Parameter own: the command of the page, to which no link leads.
    init(_ visit: Visit, of own: CommandID) {
        self.visit = visit
        self.own = own
    }

    func html(_ sentence: String) -> HTML {
        var html = HTML()
        var plain = ""
        for (index, word) in sentence.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { plain += " " }
            let start = word.prefix { Self.marks.contains($0) }
            let core = word.dropFirst(start.count)
            let end = core.reversed().prefix { Self.marks.contains($0) }.count
            guard let part = part(core.dropLast(end)) else {
                plain += word
                continue
            }
            html.append(HTML(text: plain + start))
            html.append(part)
            plain = String(core.suffix(end))
        }
        html.append(HTML(text: plain))
        return html
    }

    /// - Returns: nil for a word that is neither an id nor a time.
    private func part(_ word: Substring) -> HTML? {
        if word.utf8.count == 36, let id = CommandID(word), id != own {
            return tag(.a, .href(visit.url(.command(id)))) { String(word) }
        }
        guard word.utf8.count >= 20, let time = Timestamp(rfc3339: String(word)) else { return nil }
        return time.html(now: visit.now)
    }
}
