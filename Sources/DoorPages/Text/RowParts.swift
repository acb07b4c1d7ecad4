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
