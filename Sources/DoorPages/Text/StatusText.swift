internal import Commands

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
