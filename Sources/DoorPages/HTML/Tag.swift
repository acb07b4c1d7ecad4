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
