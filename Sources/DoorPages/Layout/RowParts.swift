internal import Commands
internal import Console

/// Parts of rows that several pages have.
enum RowParts {
    /// A word with a glyph before it, which the style shows, and which is not read out.
    static func state(_ word: String, glyph: String, tone: String, title: String? = nil, key: String? = nil) -> HTML {
        tag(
            .span, .class("st \(tone)"), .data("g", glyph), title.map { .title($0) }, key.map { .live("\($0)-state") }
        ) { word }
    }

    /// A bar with its share in words.
    /// - Parameters:
    ///   - key: of the live update; nil for none.
    ///   - empty: shown where the total is not known or zero; nil: the offset in bytes.
    static func progress(_ offset: Int64, of total: Int64, label: String, key: String? = nil, empty: String? = nil)
        -> HTML
    {
        let share = total > 0 ? min(max(Double(offset) / Double(total), 0), 1) : 0
        return tag(.span, .class("prog")) {
            tag(
                .progress, .the(.max, "1000"), .the(.value, "\(Int(share * 1000))"), .the(.label, label),
                key.map { .live("\($0)-bar") })
            tag(.span, .class("num"), key.map { .live("\($0)-share") }) {
                total > 0 ? "\(Int(share * 100)) %" : empty ?? Figures.bytes(offset)
            }
        }
    }

    /// The end of an id, which a person can copy to the command line.
    static func shortID(_ id: CommandID) -> HTML {
        tag(.code, .title(id.description)) { "\(id.description.suffix(8))" }
    }

    /// A destination without the port that its scheme implies.
    static func destination(_ destination: Destination) -> String { DestinationText.name(destination) }

    /// A clause about a destination, behind its name. Many clauses begin with the destination: it is not said twice.
    static func sentence(_ clause: String, of destination: Destination) -> String {
        DestinationText.sentence(clause, of: destination)
    }

    /// How far a search has come that stopped at its time limit.
    static func lookedBack(to id: CommandID, _ visit: Visit) -> HTML {
        tag(.span, .class("dim")) {
            "Looked back to "
            id.madeAt.html(now: visit.now)
            ". "
        }
    }

    /// A hidden field.
    static func hidden(_ name: String, _ value: String) -> HTML {
        tag(.input, .the(.type, "hidden"), .the(.name, name), .the(.value, value))
    }

    /// A button that posts a form of its own.
    static func button(
        _ text: String, _ url: PageURL, label: String? = nil, tone: String = "", fields: [(String, String)] = [],
        asks question: String? = nil
    ) -> HTML {
        tag(.form, .class("inline"), .the(.method, "post"), .action(url)) {
            for (name, value) in fields { hidden(name, value) }
            tag(
                .button, .the(.type, "submit"), tone.isEmpty ? nil : .class(tone), label.map { .the(.label, $0) },
                question.map { .data("ask", $0) }
            ) { text }
        }
    }
}

/// A status as pages show it: its word and a glyph, and a colour in addition.
extension CommandStatus {
    var glyph: String {
        switch self {
        case .new: "○"
        case .queued: "◔"
        case .sent: "▸"
        case .error: "↻"
        case .success: "✓"
        case .cancelled: "–"
        case .blocked: "⋯"
        case .inDoubt: "?"
        case .tooManyTimes: "✕"
        }
    }

    /// The class of its colour.
    var tone: String {
        switch self {
        case .success: "ok"
        case .queued, .sent: "run"
        case .error, .inDoubt: "warn"
        case .tooManyTimes: "bad"
        case .new, .blocked, .cancelled: "dim"
        }
    }

    var html: HTML {
        RowParts.state(word, glyph: glyph, tone: tone, title: word == name ? nil : name)
    }
}

extension Timestamp {
    /// The time of day, with the date where it is not that of `now`. UTC; the script shows it in the zone of the reader.
    func html(now: Timestamp) -> HTML {
        let text = description
        let isToday = text.prefix(10) == now.description.prefix(10)
        let time = text.dropFirst(11).prefix(8)
        return tag(.time, .the(.datetime, text), .title("\(text.prefix(10)) \(text.dropFirst(11).prefix(12)) UTC")) {
            isToday ? "\(time)" : "\(text.dropFirst(5).prefix(5)) \(time.prefix(5))"
        }
    }

    /// As ``html(now:)``, with milliseconds.
    var exactHTML: HTML {
        let text = description
        return tag(
            .time, .the(.datetime, text), .flag(.exact),
            .title("\(text.prefix(10)) \(text.dropFirst(11).prefix(12)) UTC")
        ) { "\(text.dropFirst(11).prefix(12))" }
    }

    /// How long ago, in one unit.
    func ageHTML(now: Timestamp) -> HTML {
        let text = "\(description.prefix(19))Z"
        return tag(.time, .the(.datetime, text), .flag(.age)) {
            (now - self).roundText
        }
    }
}

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
