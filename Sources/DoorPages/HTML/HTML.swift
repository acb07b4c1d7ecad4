/// Markup. Texts and values of attributes are escaped by construction: no initializer takes markup as a string.
package struct HTML: Sendable, Equatable {
    package private(set) var markup = ""

    package init() {}

    /// - Parameter text: shown as it is. Control characters become U+FFFD.
    package init(text: String) { Self.escape(text, into: &markup) }

    package init(_ tag: Tag, _ attributes: [Attribute], _ content: HTML) {
        markup = "<\(tag.rawValue)"
        for attribute in attributes {
            markup += " \(attribute.name)"
            guard let value = attribute.value else { continue }
            markup += "=\""
            Self.escape(value, into: &markup)
            markup += "\""
        }
        markup += ">"
        guard !tag.isVoid else { return }
        markup += content.markup
        if !tag.hasImpliedEnd { markup += "</\(tag.rawValue)>" }
    }

    package mutating func append(_ other: HTML) { markup += other.markup }

    package var isEmpty: Bool { markup.isEmpty }

    /// The whole document, whose root is this element.
    package var document: String { "<!doctype html>\n\(markup)\n" }

    /// The characters `< > & " '` and controls are all that a text or a quoted value must not have (HTML, section 13.1).
    private static func escape(_ text: String, into markup: inout String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "&": markup += "&amp;"
            case "\"": markup += "&quot;"
            case "'": markup += "&#39;"
            case "\n", "\t": markup.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value): markup += "\u{FFFD}"
            default: markup.unicodeScalars.append(scalar)
            }
        }
    }
}

/// An element with its content.
func tag(_ tag: Tag, _ attributes: Attribute?..., @HTMLBuilder content: () -> HTML) -> HTML {
    HTML(tag, attributes.compactMap(\.self), content())
}

/// An element without content.
func tag(_ tag: Tag, _ attributes: Attribute?...) -> HTML { HTML(tag, attributes.compactMap(\.self), HTML()) }

/// Joins elements and texts. A string in a builder is text.
@resultBuilder
enum HTMLBuilder {
    static func buildExpression(_ html: HTML) -> HTML { html }
    static func buildExpression(_ html: HTML?) -> HTML { html ?? HTML() }
    static func buildExpression(_ text: String) -> HTML { HTML(text: text) }
    static func buildBlock(_ parts: HTML...) -> HTML { join(parts) }
    static func buildArray(_ parts: [HTML]) -> HTML { join(parts) }
    static func buildOptional(_ part: HTML?) -> HTML { part ?? HTML() }
    static func buildEither(first part: HTML) -> HTML { part }
    static func buildEither(second part: HTML) -> HTML { part }

    private static func join(_ parts: [HTML]) -> HTML {
        var all = HTML()
        for part in parts { all.append(part) }
        return all
    }
}

/// The elements that pages use.
package enum Tag: String, Sendable {
    case html, head, meta, title, link, script, body
    case header, nav, main, section, footer, h1, h2, h3, p, div, span, a, b, code, pre, bdi, time, hr
    case ul, ol, li, dl, dt, dd, table, caption, thead, tbody, tr, th, td, details, summary
    case form, label, input, button, select, option, textarea, fieldset, legend, progress, kbd, noscript
    case svg, g, path, rect, line, circle, text

    /// Its end follows from what comes next (HTML, section 13.1.2.4), so it is left out: a list of 50 rows is 3 kB smaller.
    var hasImpliedEnd: Bool {
        switch self {
        case .li, .dt, .dd, .tr, .th, .td, .option: true
        default: false
        }
    }

    var isVoid: Bool {
        switch self {
        case .meta, .link, .input, .hr: true
        default: false
        }
    }
}
